internal import IntermediateDump

/// One mapping of the address space, for example from a line of `/proc/self/maps`.
///
/// Source: proc_pid_maps(5).
public struct MemoryMapping: Sendable, Equatable {
  public struct Protection: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let read = Protection(rawValue: 1)
    public static let write = Protection(rawValue: 2)
    public static let execute = Protection(rawValue: 4)
  }

  public var range: AddressRange
  public var protection: Protection
  public var isPrivate: Bool
  /// The offset, in bytes from the start of the file, at which the mapping begins; 0 for anonymous memory.
  public var fileOffset: UInt64
  public var device: String
  public var inode: UInt64
  /// A path, a name in brackets such as `[stack]`, or empty for anonymous memory.
  public var path: String

  public init(
    range: AddressRange, protection: Protection, isPrivate: Bool = true,
    fileOffset: UInt64 = 0, device: String = "00:00", inode: UInt64 = 0, path: String = ""
  ) {
    self.range = range
    self.protection = protection
    self.isPrivate = isPrivate
    self.fileOffset = fileOffset
    self.device = device
    self.inode = inode
    self.path = path
  }

  /// Makes a mapping from `start` up to but not including `end`; empty if `end` is not above `start`.
  public init(
    start: Address, end: Address, protection: Protection, isPrivate: Bool = true,
    fileOffset: UInt64 = 0, device: String = "00:00", inode: UInt64 = 0, path: String = ""
  ) {
    self.init(
      range: AddressRange(from: start, to: end), protection: protection, isPrivate: isPrivate,
      fileOffset: fileOffset, device: device, inode: inode, path: path)
  }

  public var start: Address { range.start }

  /// The address after the mapping; for a mapping that reaches the end of the address space, the last address.
  public var end: Address { range.clampedEnd }
}

extension MemoryMapping {
  /// Parses the text of `/proc/<pid>/maps`.
  ///
  /// Parsing never traps, whatever bytes the text contains. A line that the kernel cannot have written is left out. A
  /// last line without a newline is left out too, because a truncated dump may end in the middle of a path. The
  /// kernel produces the text in several steps, and a running process can change its mappings between them. If the
  /// mappings in two lines overlap for this reason, the mapping with the lower start is used.
  ///
  /// Source: proc_pid_maps(5).
  ///
  /// - Parameter text: complete lines, each ended by a newline.
  /// - Returns: mappings sorted by address, without overlaps.
  public static func mappings(parsing text: ArraySlice<UInt8>) -> [MemoryMapping] {
    var mappings: [MemoryMapping] = []
    var rest = text
    while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
      if let mapping = MemoryMapping(parsingLine: rest[rest.startIndex..<newline]) {
        mappings.append(mapping)
      }
      rest = rest[(newline + 1)...]
    }
    return inOrder(mappings)
  }

  /// Returns the mappings sorted by address.
  ///
  /// The kernel lists no overlapping mappings; if mappings in a dump overlap, the one with the lower start is used.
  package static func inOrder(_ mappings: [MemoryMapping]) -> [MemoryMapping] {
    var sorted: [MemoryMapping] = []
    sorted.reserveCapacity(mappings.count)
    for mapping in mappings.sorted(by: {
      ($0.start, $0.range.byteCount) < ($1.start, $1.range.byteCount)
    }) {
      guard sorted.last?.range.ends(atOrBelow: mapping.start) != false else { continue }
      sorted.append(mapping)
    }
    return sorted
  }

  private init?(parsingLine line: ArraySlice<UInt8>) {
    var rest = line
    func word(endedBy mark: UInt8 = UInt8(ascii: " ")) -> ArraySlice<UInt8> {
      let word = rest.prefix { $0 != mark }
      rest = rest[word.endIndex...].dropFirst()
      return word
    }
    func number(_ digits: ArraySlice<UInt8>, radix: UInt64 = 16) -> UInt64? {
      UInt64(digits: Substring(decoding: digits, as: UTF8.self), radix: radix)
    }
    guard let start = number(word(endedBy: UInt8(ascii: "-"))), let end = number(word()),
      start < end
    else { return nil }
    let flags = word()
    guard flags.count == 4, let offset = number(word()) else { return nil }
    let device = word()
    guard !device.isEmpty, let inode = number(word(), radix: 10) else { return nil }
    var protection: Protection = []
    let first = flags.startIndex
    if flags[first] == UInt8(ascii: "r") { protection.insert(.read) }
    if flags[first + 1] == UInt8(ascii: "w") { protection.insert(.write) }
    if flags[first + 2] == UInt8(ascii: "x") { protection.insert(.execute) }
    self.init(
      start: Address(start), end: Address(end), protection: protection,
      isPrivate: flags[first + 3] == UInt8(ascii: "p"), fileOffset: offset,
      device: String(decoding: device, as: UTF8.self), inode: inode,
      path: Self.path(unescaping: rest.drop { $0 == UInt8(ascii: " ") }))
  }

  /// Replaces the only escape that the kernel writes in a path, `\012`, with a newline.
  static func path(unescaping bytes: ArraySlice<UInt8>) -> String {
    let hasEscape = bytes.contains(UInt8(ascii: "\\"))
    let path = hasEscape ? bytes.replacing("\\012".utf8, with: "\n".utf8) : bytes
    return String(decoding: path, as: UTF8.self)
  }
}
