internal import CSignalSafe
internal import IntermediateDump

/// The program's annotations: a list that only grows, in memory that is handed out once.
///
/// A node: offset of the next one (4), type (4), bytes of the name (4), capacity (4), the name,
/// and from the next multiple of 8 on the `ValueCell` of a text or the `NumberCell` of any other type.
/// A node is whole before a compare-and-swap of the list's head makes it known.
///
/// Lies in `ClientMemory`. RUNS-DURING-CRASH; filled by the program. Source: Crashpad
/// `client/annotation_list.h`.
@safe
struct AnnotationList {
  static var maximumCount: Int { @_noLocks get { 400 } }
  static var maximumNameCount: Int { @_noLocks get { 255 } }
  /// Source: Crashpad `client/annotation.h`, kValueMaxSize.
  static var maximumCapacity: Int { @_noLocks get { 20480 } }
  private static var headerSize: Int { 16 }

  private let base: UnsafeMutableRawPointer
  private let byteCount: Int
  private let head: FutexWord
  private let used: FutexWord
  private let omitted: FutexWord

  @_noLocks
  init(
    _ base: UnsafeMutableRawPointer, byteCount: Int, head: FutexWord, used: FutexWord,
    omitted: FutexWord
  ) {
    unsafe self.base = base
    self.byteCount = byteCount
    self.head = head
    self.used = used
    self.omitted = omitted
  }

  var omittedCount: UInt32 { @_noLocks get { omitted.value } }

  /// The first node, which is that made last; 0 if there is none.
  var first: UInt32 { @_noLocks get { head.value } }

  /// A node; nil if none can be there, which ends the list.
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

  /// The place of the cell of an annotation that is a number; 0 for the annotation 0.
  @_noLocks
  func numberOffset(_ offset: UInt32) -> UInt32 {
    guard let node = node(offset) else { return 0 }
    return offset
      &+ UInt32(truncatingIfNeeded: AnnotationNode.cellOffset(nameCount: node.nameCount))
  }

  /// The number of an annotation by its `numberOffset`; nil for 0, where the annotation found no room.
  @_noLocks
  func number(_ offset: UInt32) -> NumberCell? {
    let start = Int(offset)
    guard start >= 8, start <= byteCount &- NumberCell.byteCount else { return nil }
    return unsafe NumberCell(base + start)
  }

  /// The annotation of a name, type and capacity; made if there is none.
  ///
  /// - Returns: 0 if there is no room for it, which is counted.
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
      // Another thread may have added the last one since this one counted.
      guard made != 0, count < AnnotationList.maximumCount, let node = node(made) else {
        omitted.add(1)
        return 0
      }
      node.setNext(first)
      if head.exchange(expected: first, desired: made) == first { return made }
    }
  }

  /// Takes memory for a node and fills it; 0 if there is none left.
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
      // Offset 0 is none.
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

/// One annotation of the list.
///
/// RUNS-DURING-CRASH.
@safe
struct AnnotationNode {
  private let base: UnsafeMutableRawPointer

  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  /// The type of a text, as `AnnotationType` has it.
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

  /// The value of a text.
  var text: ValueCell {
    @_noLocks get { unsafe ValueCell(cellBase, capacity: capacity) }
  }

  /// Copies the value, of any type.
  ///
  /// - Parameter place: at least `capacity` bytes, and 8.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading {
    unsafe type == AnnotationNode.textType
      ? text.read(into: place) : NumberCell(cellBase).read(into: place)
  }

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

  private func field(_ offset: Int) -> UInt32 {
    unsafe pm_atomic_load((base + offset).assumingMemoryBound(to: UInt32.self))
  }

  private func setField(_ offset: Int, _ value: UInt32) {
    unsafe pm_atomic_store((base + offset).assumingMemoryBound(to: UInt32.self), value)
  }
}

/// A number that any thread may replace at any time.
///
/// One word, the number combined with `mark`, so that 0 is none; one store replaces it whole. The second
/// word tells the one number whose word is 0. Nothing is read to set it: of many threads that set the
/// same number at once each would wait for the line that another one has just written, while stores are
/// queued.
///
/// RUNS-DURING-CRASH; set by the program. Decision 0023.
@safe
struct NumberCell {
  static var byteCount: Int { @_noLocks get { 16 } }
  /// A number that hardly anybody sets.
  static var mark: UInt64 { @_noLocks get { 0x9E37_79B9_7F4A_7C15 } }

  private let words: UnsafeMutablePointer<UInt64>

  /// The cell at an address that is a multiple of 8; zeros are a cell without a number.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe words = base.assumingMemoryBound(to: UInt64.self)
  }

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

  /// Copies the number, 8 bytes, little-endian.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading {
    let word = unsafe pm_atomic_load_64(words)
    guard unsafe word != 0 || pm_atomic_load_64(words + 1) == 1 else { return CellReading(.empty) }
    unsafe place.storeBytes(of: word ^ NumberCell.mark, as: UInt64.self)
    return CellReading(.value, count: 8)
  }
}
