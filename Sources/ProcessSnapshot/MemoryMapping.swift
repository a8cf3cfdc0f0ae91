/// One line of `/proc/self/maps`.
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
  /// Bytes from the start of the file.
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

  /// A mapping up to an address, which does not belong to it; empty where that is not above `start`.
  public init(
    start: Address, end: Address, protection: Protection, isPrivate: Bool = true,
    fileOffset: UInt64 = 0, device: String = "00:00", inode: UInt64 = 0, path: String = ""
  ) {
    self.init(
      range: AddressRange(from: start, to: end), protection: protection, isPrivate: isPrivate,
      fileOffset: fileOffset, device: device, inode: inode, path: path)
  }

  public var start: Address { range.start }

  /// One past the last address; the last one itself, where that is the last there is.
  public var end: Address { range.clampedEnd }
}
