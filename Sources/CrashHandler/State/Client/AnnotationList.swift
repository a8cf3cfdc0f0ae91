internal import CSignalSafe
internal import IntermediateDump

/// The program's annotations, in a list that only grows and whose memory is never freed.
///
/// A node consists of the offset of the next node (4 bytes), the type (4), the length of the name (4), the capacity
/// (4) and the name. A `ValueCell` (for a text) or a `NumberCell` (for any other type) follows at the next multiple
/// of 8. A node is filled completely before a compare-and-swap makes it the head of the list.
///
/// The list is in `ClientMemory`. RUNS-DURING-CRASH; filled by the program. Source: Crashpad
/// `client/annotation_list.h`.
@safe
struct AnnotationList {
  static var maximumCount: Int { @_noLocks get { 400 } }
  static var maximumNameCount: Int { @_noLocks get { 255 } }
  /// Source: Crashpad `client/annotation.h`, kValueMaxSize.
  static var maximumCapacity: Int { @_noLocks get { 20480 } }
  private static var headerSize: Int { 16 }

  let base: UnsafeMutableRawPointer
  let byteCount: Int
  let head: FutexWord
  let used: FutexWord
  let omitted: FutexWord

  var omittedCount: UInt32 { @_noLocks get { omitted.value } }

  /// The offset of the first node, which was added last; 0 if the list is empty.
  var first: UInt32 { @_noLocks get { head.value } }

  /// The node at an offset; nil if no node can be at that offset, as at the end of the list, where the offset is 0.
  @_noLocks
  func node(_ offset: UInt32) -> AnnotationNode? {
    let start = Int(offset)
    guard offset & 7 == 0, start >= 8, start <= byteCount &- AnnotationList.headerSize else {
      return nil
    }
    let node = unsafe AnnotationNode(base + start)
    guard node.nameCount <= AnnotationList.maximumNameCount,
      node.capacity <= AnnotationList.maximumCapacity,
      start &+ node.byteCount <= byteCount
    else { return nil }
    return node
  }
}

extension ClientMemory {
  var annotations: AnnotationList {
    @_noLocks get {
      unsafe AnnotationList(
        base: base + listOffset, byteCount: byteCount &- listOffset, head: word(16), used: word(20),
        omitted: word(12))
    }
  }
}

/// One annotation of the list.
///
/// RUNS-DURING-CRASH.
@safe
struct AnnotationNode {
  let base: UnsafeMutableRawPointer

  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  /// The code of a text annotation's type.
  private static var textType: UInt32 { UInt32(truncatingIfNeeded: AnnotationType.text.code) }

  @_noLocks
  static func byteCount(nameCount: Int, cellByteCount: Int) -> Int {
    cellOffset(nameCount: nameCount) &+ cellByteCount
  }

  @_noLocks
  static func cellByteCount(_ type: UInt32, capacity: Int) -> Int {
    type == textType ? ValueCell.byteCount(capacity: capacity) : NumberCell.byteCount
  }

  @_noLocks
  static func cellOffset(nameCount: Int) -> Int { 16 &+ (nameCount &+ 7) & ~7 }

  var next: UInt32 { @_noLocks get { field(0) } }
  var type: UInt32 { @_noLocks get { field(4) } }
  var nameCount: Int { @_noLocks get { Int(field(8)) } }
  var capacity: Int { @_noLocks get { Int(field(12)) } }
  var name: UnsafeRawPointer { @_noLocks get { unsafe UnsafeRawPointer(base + 16) } }

  var byteCount: Int {
    @_noLocks get {
      AnnotationNode.byteCount(
        nameCount: nameCount,
        cellByteCount: AnnotationNode.cellByteCount(type, capacity: capacity))
    }
  }

  private var cellBase: UnsafeMutableRawPointer {
    unsafe base + AnnotationNode.cellOffset(nameCount: nameCount)
  }

  /// The cell that holds the value; only for a text annotation.
  var text: ValueCell {
    @_noLocks get { unsafe ValueCell(cellBase, capacity: capacity) }
  }

  /// Copies the annotation's value, whatever its type is.
  ///
  /// - Parameter place: memory of at least `capacity` bytes, and at least 8, because a number takes 8 bytes.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading? {
    unsafe type == AnnotationNode.textType
      ? text.read(into: place) : NumberCell(cellBase).read(into: place)
  }

  private func field(_ offset: Int) -> UInt32 {
    unsafe pm_atomic_load((base + offset).assumingMemoryBound(to: UInt32.self))
  }
}

/// A number that any thread may replace at any time.
///
/// The first word holds the number combined with `mark` by exclusive or, so that 0 means no value. The second word is
/// set only for the one number whose combined word would be 0. One store replaces the number, without reading memory
/// first. If many threads set the number at the same time, a read would wait for the cache line that another thread has
/// just written. A store does not wait, because the processor queues it.
///
/// RUNS-DURING-CRASH; set by the program. See
/// Docs/Decisions/17-what-the-program-tells.md.
@safe
struct NumberCell {
  static var byteCount: Int { @_noLocks get { 16 } }
  /// The value that each number is combined with; an arbitrary value that programs rarely set.
  static var mark: UInt64 { @_noLocks get { 0x9E37_79B9_7F4A_7C15 } }

  let words: UnsafeMutablePointer<UInt64>

  /// Creates the cell at an address that is a multiple of 8; memory that contains zeros is a cell without a number.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe words = base.assumingMemoryBound(to: UInt64.self)
  }

  /// Copies the number as 8 bytes, little-endian.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading? {
    let word = unsafe pm_atomic_load_64(words)
    guard unsafe word != 0 || pm_atomic_load_64(words + 1) == 1 else { return nil }
    unsafe place.storeBytes(of: word ^ NumberCell.mark, as: UInt64.self)
    return CellReading(count: 8)
  }
}

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
