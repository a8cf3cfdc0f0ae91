internal import CSignalSafe

/// Adds annotations to the list when the program creates them; the crash handler only reads the list.
extension AnnotationList {
  /// Returns the offset of the cell that holds a number annotation's value; 0 if the annotation does not exist.
  @_noLocks
  func numberOffset(_ offset: UInt32) -> UInt32 {
    guard let node = node(offset) else { return 0 }
    return offset
      &+ UInt32(truncatingIfNeeded: AnnotationNode.cellOffset(nameCount: node.nameCount))
  }

  /// Returns the cell of a number annotation at its `numberOffset`; nil for an offset outside the list.
  ///
  /// For example, the offset is 0 for a text annotation, and for an annotation for which there was no room.
  @_noLocks
  func number(_ offset: UInt32) -> NumberCell? {
    let start = Int(offset)
    guard start >= 8, start <= byteCount &- NumberCell.byteCount else { return nil }
    return unsafe NumberCell(base + start)
  }

  /// Returns the offset of the annotation with this name, type and capacity; creates the annotation if it does not
  /// exist.
  ///
  /// - Returns: 0 if there is no room for the annotation, which is then counted as left out.
  @_noLocks
  func offset(
    name: UnsafeRawPointer, nameCount: Int, type: UInt32, capacity: Int
  ) -> UInt32 {
    var made: UInt32 = 0
    while true {
      let first = head.value
      var count = 0
      var next = first
      while count < AnnotationList.maximumCount, let node = node(next) {
        if unsafe node.type == type && node.capacity == capacity
          && node.hasName(name, count: nameCount)
        {
          return next
        }
        next = node.next
        count &+= 1
      }
      if made == 0 {
        made =
          unsafe count < AnnotationList.maximumCount
          ? make(name: name, nameCount: nameCount, type: type, capacity: capacity) : 0
      }
      // Another thread may have added the last possible annotation since this thread counted them.
      guard made != 0, count < AnnotationList.maximumCount, let node = node(made) else {
        omitted.add(1)
        return 0
      }
      node.setNext(first)
      if head.exchange(expected: first, desired: made) == first { return made }
    }
  }

  /// Reserves memory for a node and fills the node; returns the node's offset, or 0 if the name or the capacity is too
  /// large or no memory is left.
  private func make(
    name: UnsafeRawPointer, nameCount: Int, type: UInt32, capacity: Int
  ) -> UInt32 {
    guard nameCount <= AnnotationList.maximumNameCount,
      capacity <= AnnotationList.maximumCapacity
    else { return 0 }
    let size = AnnotationNode.byteCount(
      nameCount: nameCount, cellByteCount: AnnotationNode.cellByteCount(type, capacity: capacity))
    while true {
      let old = used.value
      // Offset 0 means "no node", so the first node is at 8.
      let start = old < 8 ? 8 : Int(old)
      guard start &+ size <= byteCount else { return 0 }
      let end = UInt32(truncatingIfNeeded: start &+ size)
      guard used.exchange(expected: old, desired: end) == old else { continue }
      let node = unsafe AnnotationNode(base + start)
      unsafe node.fill(name: name, nameCount: nameCount, type: type, capacity: capacity)
      return UInt32(truncatingIfNeeded: start)
    }
  }
}

extension AnnotationNode {
  @_noLocks
  func hasName(_ name: UnsafeRawPointer, count: Int) -> Bool {
    guard nameCount == count else { return false }
    return unsafe pm_bytes_equal(self.name, name, count) != 0
  }

  fileprivate func setNext(_ next: UInt32) { setField(0, next) }

  @_noLocks
  func fill(name: UnsafeRawPointer, nameCount: Int, type: UInt32, capacity: Int) {
    setField(4, type)
    setField(8, UInt32(truncatingIfNeeded: nameCount))
    setField(12, UInt32(truncatingIfNeeded: capacity))
    unsafe pm_copy_bytes(base + 16, name, nameCount)
  }

  private func setField(_ offset: Int, _ value: UInt32) {
    unsafe pm_atomic_store((base + offset).assumingMemoryBound(to: UInt32.self), value)
  }
}

extension NumberCell {
  @_noLocks
  func set(_ number: UInt64) {
    let word = number.littleEndian ^ NumberCell.mark
    if word == 0 { unsafe pm_atomic_store_64(words + 1, 1) }
    unsafe pm_atomic_store_64(words, word)
  }

  @_noLocks
  func clear() {
    unsafe pm_atomic_store_64(words + 1, 0)
    unsafe pm_atomic_store_64(words, 0)
  }
}
