/// One ELF image in the address space: the executable, a shared library, the loader or the vDSO.
public struct ModuleSnapshot: Sendable, Equatable {
  /// Where the ELF header lies.
  public var address: Address
  /// Bytes from `address` to the end of the last loaded segment.
  public var size: UInt64
  /// As in `/proc/self/maps`, a trailing " (deleted)" taken away; "linux-gate.so" for the vDSO.
  public var path: String
  /// True if the file had been deleted or replaced when the process crashed.
  public var isDeleted: Bool
  /// The GNU build ID; empty where the image has none.
  public var buildID: [UInt8]
  /// What the module said of itself.
  public var annotations = ModuleAnnotations()

  public init(
    address: Address, size: UInt64, path: String, isDeleted: Bool = false, buildID: [UInt8] = []
  ) {
    self.address = address
    self.size = size
    self.path = path
    self.isDeleted = isDeleted
    self.buildID = buildID
  }

  public var range: AddressRange { AddressRange(start: address, byteCount: size) }

  public func contains(_ address: Address) -> Bool { range.contains(address) }

  /// The last component of the path.
  public var name: String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.index(after: slash)...])
  }
}
