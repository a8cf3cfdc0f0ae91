extension RandomAccessCollection where Index == Int {
  /// Finds by binary search the first element that fulfills a predicate.
  ///
  /// - Parameter predicate: false for all elements up to some index, true from there on.
  /// - Returns: that index; `endIndex` if no element fulfills it.
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

  /// The element that contains an address, among sorted elements that do not overlap; nil if none does.
  package func element(containing address: Address, by range: (Element) -> AddressRange) -> Element?
  {
    let index = partitioningIndex { range($0).start > address } - 1
    return index >= startIndex && range(self[index]).contains(address) ? self[index] : nil
  }
}
