extension RandomAccessCollection where Index == Int {
  /// Uses a binary search to find the first element that fulfills a predicate.
  ///
  /// - Parameter predicate: false for all elements up to some index, true from there on.
  /// - Returns: the index of that element; `endIndex` if no element fulfills the predicate.
  @inlinable
  package func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Returns the element that contains an address; nil if none does.
  ///
  /// The elements must be sorted and must not overlap.
  package func element(containing address: Address, by range: (Element) -> AddressRange) -> Element?
  {
    let index = partitioningIndex { range($0).start > address } - 1
    return index >= startIndex && range(self[index]).contains(address) ? self[index] : nil
  }
}
