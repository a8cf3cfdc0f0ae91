/// One mapping in a `MappingTable`.
///
/// RUNS-DURING-CRASH.
struct Mapping {
  static var isReadable: UInt8 { @_noLocks get { 1 } }
  static var isWritable: UInt8 { @_noLocks get { 2 } }
  static var isExecutable: UInt8 { @_noLocks get { 4 } }
  /// The flag of a mapping that begins at file offset 0.
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
  let pathOffset: Int
  let pathLength: Int
  let flags: UInt8

  @_noLocks
  init(start: UInt64, end: UInt64, pathOffset: Int, pathLength: Int, flags: UInt8) {
    self.start = start
    self.end = end
    self.pathOffset = pathOffset
    self.pathLength = pathLength
    self.flags = flags
  }

  @_noLocks
  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}
