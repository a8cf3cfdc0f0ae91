/// One mapping in a `MappingTable`.
///
/// RUNS-DURING-CRASH.
struct Mapping {
  static var isReadable: UInt8 { @_noLocks get { 1 } }
  static var isWritable: UInt8 { @_noLocks get { 2 } }
  static var isExecutable: UInt8 { @_noLocks get { 4 } }
  /// The flag of a mapping that begins at file offset 0, where an ELF header can be.
  static var startsFile: UInt8 { @_noLocks get { 8 } }
  /// The flag of a mapping that is known to contain an image.
  static var isOfImage: UInt8 { @_noLocks get { 32 } }

  /// A mapping without an address.
  static var none: Mapping {
    @_noLocks get { Mapping(start: 0, end: 0, pathOffset: 0, pathLength: 0, flags: 0) }
  }

  let start: UInt64
  let end: UInt64
  /// The offset of the path in the table's text.
  fileprivate let pathOffset: UInt32
  /// The length of the path; 16 bits are enough, because PATH_MAX is 4,096.
  fileprivate let pathLength: UInt16
  fileprivate var flags: UInt8

  @_noLocks
  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  @_noLocks
  func contains(_ address: UInt64) -> Bool { address >= start && address < end }

  var hasPath: Bool { @_noLocks get { pathLength > 0 } }
}

/// The contents of `/proc/thread-self/maps` while a dump is taken.
///
/// The buffer keeps the text. For each mapping, an entry holds the addresses, the flags, and the position of the
/// path in the text. Once the table is almost full, it takes only mappings with a path, and those near the stack pointer of the crash.
///
/// RUNS-DURING-CRASH. Source: proc_pid_maps(5).
@safe
struct MappingTable {
  /// The number of bytes of one mapping.
  static var stride: Int { @_noLocks get { 24 } }
  /// The number of entries that are kept for mappings with a path, and for mappings near the stack pointer.
  static var spare: Int { @_noLocks get { 4096 } }
  /// The number of these entries that are kept for mappings near the stack pointer: all that can begin or end within `reach`.
  static var nearSpare: Int { @_noLocks get { 514 } }
  /// The distance from the stack pointer, in bytes, up to which a mapping is near: the size of the kernel's stack guard gap.
  ///
  /// As many bytes of the buffer are kept for the lines of these mappings.
  private static var reach: UInt64 { 1 << 20 }

  /// The buffer for the text, and the buffer's size in bytes.
  let text: UnsafeMutableRawPointer
  let textCapacity: Int
  let entries: UnsafeMutableRawPointer
  let capacity: Int
  /// Three words: the number of bytes of the text, the number of mappings, and the number of all lines of the file.
  let counts: UnsafeMutablePointer<Int>
  /// The images that `ImageFinder` has found in the mappings.
  let images: ImageTable

  var textCount: Int { @_noLocks get { unsafe counts[0] } }
  var count: Int { @_noLocks get { unsafe counts[1] } }
  /// The number of the process's mappings; higher than `count` if the table has no room for some of them.
  var total: Int { @_noLocks get { unsafe counts[2] } }

  @_noLocks
  subscript(index: Int) -> Mapping {
    @_noLocks get { unsafe entry(index).pointee }
  }

  /// The path of a mapping's file.
  @_noLocks
  func path(of mapping: Mapping) -> Bytes {
    unsafe Bytes(text + Int(mapping.pathOffset), count: Int(mapping.pathLength))
  }

  /// Returns the part of a mapping's line that begins with the device, `major:minor`.
  @_noLocks
  func device(of mapping: Mapping) -> TextScanner {
    var line = line(of: mapping).text
    line.skipWords(3)
    return line
  }

  /// Returns a mapping's line in the text, with its line feed.
  @_noLocks
  func line(of mapping: Mapping) -> Bytes {
    var start = Int(mapping.pathOffset)
    while start > 0, wholeText.bytes(start &- 1, count: 1)[0] != 0x0A { start &-= 1 }
    let end = Int(mapping.pathOffset) &+ Int(mapping.pathLength) &+ 1
    return wholeText.bytes(start, count: (end < textCount ? end : textCount) &- start)
  }

  /// The unused part of the buffer, after the text.
  var room: Scratch {
    @_noLocks get { unsafe Scratch(text + textCount, size: textCapacity &- textCount) }
  }

  /// The text of the maps file, as the kernel returned it.
  var wholeText: Scratch { @_noLocks get { unsafe Scratch(text, size: textCount) } }

  /// Adds the mappings in lines that were read into `room`, and keeps the text if one of them was added.
  ///
  /// - Parameters:
  ///   - filled: the number of bytes of text in `room`, which are whole lines.
  ///   - stackPointer: the stack pointer of the crash; mappings near it are added as long as the table has any room.
  @_noLocks
  func add(_ filled: Int, near stackPointer: UInt64) {
    let (start, before) = (textCount, count)
    var lines = room.text(count: filled)
    unsafe counts[0] = start &+ filled
    while !lines.isAtEnd {
      addLine(&lines, after: start, near: stackPointer)
      lines.skipLine()
    }
    if count == before { unsafe counts[0] = start }
  }

  /// Removes all mappings and the images.
  @_noLocks
  func removeAll() {
    unsafe counts[0] = 0
    unsafe counts[1] = 0
    unsafe counts[2] = 0
    images.removeAll()
  }

  /// Adds the mapping that one line describes, in the form `start-end rwxp offset device inode   path`.
  private func addLine(_ scanner: inout TextScanner, after textStart: Int, near pointer: UInt64) {
    let index = count
    let start = scanner.hexadecimal()
    scanner.skip(0x2D)  // "-"
    let end = scanner.hexadecimal()
    scanner.skipBlanks()
    var flags: UInt8 = 0
    if scanner.next() == 0x72 { flags |= Mapping.isReadable }  // "r"
    if scanner.next() == 0x77 { flags |= Mapping.isWritable }  // "w"
    if scanner.next() == 0x78 { flags |= Mapping.isExecutable }  // "x"
    scanner.skipWord()
    scanner.skipBlanks()
    if scanner.hexadecimal() == 0 { flags |= Mapping.startsFile }
    scanner.skipBlanks()
    scanner.skipWords(2)  // device, inode
    let position = scanner.position
    let length = scanner.lengthOfLine
    guard end > start else { return }
    unsafe counts[2] &+= 1
    let isNear = end > pointer &- MappingTable.reach && start < pointer &+ MappingTable.reach
    let kept = length > 0 ? MappingTable.nearSpare : MappingTable.spare
    let isRoomy = index < capacity &- kept && room.size >= 1 << 20
    guard isRoomy || isNear && index < capacity else { return }
    unsafe entry(index).pointee = Mapping(
      start: start, end: end, pathOffset: UInt32(truncatingIfNeeded: textStart &+ position),
      pathLength: UInt16(truncatingIfNeeded: length), flags: flags)
    unsafe counts[1] = index &+ 1
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Mapping> {
    unsafe (entries + index &* MappingTable.stride).assumingMemoryBound(to: Mapping.self)
  }

  /// The index of the first mapping that ends above an address; `count` if none does.
  @inline(never) @_noLocks
  func index(endingAbove address: UInt64) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low &+ high) &>> 1
      if self[middle].end > address { high = middle } else { low = middle &+ 1 }
    }
    return low
  }

  /// The mapping that contains an address; nil if there is none.
  @_noLocks
  func mapping(around address: UInt64) -> Mapping? {
    let index = index(endingAbove: address)
    guard index < count, self[index].start <= address else { return nil }
    return self[index]
  }

  /// Returns how many consecutive bytes, starting at an address, are in readable mappings; at most `count`.
  ///
  /// Without mappings, all addresses count as readable.
  @_noLocks
  func readable(_ address: UInt64, count: Int) -> Int {
    guard self.count > 0 else { return count }
    let end = address &+ UInt64(truncatingIfNeeded: count)
    var (place, index) = (address, index(endingAbove: address))
    while place < end, index < self.count, self[index].start <= place,
      self[index].has(Mapping.isReadable)
    {
      place = self[index].end
      index &+= 1
    }
    return Int(truncatingIfNeeded: (place < end ? place : end) &- address)
  }

  /// The index of the first readable mapping that ends above an address; `count` if none does.
  @_noLocks
  func readable(endingAbove address: UInt64) -> Int {
    var index = index(endingAbove: address)
    while index < count, !self[index].has(Mapping.isReadable) { index &+= 1 }
    return index
  }

  @inline(never) @_noLocks
  func isExecutable(_ address: UInt64) -> Bool {
    mapping(around: address)?.has(Mapping.isExecutable) ?? false
  }

  @_noLocks
  func removeMarks() {
    for index in Indices(count) {
      unsafe entry(index).pointee.flags &= ~Mapping.isOfImage
    }
  }

  /// Marks a mapping that contains a segment of an image, so that no other image is looked for there.
  @_noLocks
  func mark(_ index: Int) { unsafe entry(index).pointee.flags |= Mapping.isOfImage }
}
