public import IntermediateDump

/// An open file descriptor of the process.
public struct OpenDescriptor: Sendable, Equatable {
  public typealias Kind = DescriptorKind

  public var number: UInt32 = 0
  /// The kind of file; nil for an unknown kind, or if the link in `/proc` could not be read.
  public var kind: Kind?
  /// The path, or the kernel's text for a descriptor without a path, such as `socket:[4711]`; nil if it was left out
  /// or could not be read.
  public var path: String?
  /// True if the path was too long and its end is missing.
  public var isCut = false
  /// True if the file was deleted while it was open.
  public var isDeleted = false

  public init() {}

  /// The kind of an anonymous inode, such as "eventpoll"; nil for other descriptors.
  public var anonymousKind: String? {
    guard kind == .anonymous, let path, path.hasPrefix("anon_inode:") else { return nil }
    let name = path.dropFirst("anon_inode:".count)
    return name.hasPrefix("[") && name.hasSuffix("]")
      ? String(name.dropFirst().dropLast()) : String(name)
  }
}

extension OpenDescriptor {
  package static let mapFields = MapFields(
    OpenDescriptor(),
    [
      .required(.descriptorNumber, \.number),
      .optional(.descriptorKind, \.kind),
      .optional(.descriptorPath, \.path),
      .flag(.descriptorPathIsCut, \.isCut),
      .flag(.descriptorIsDeleted, \.isDeleted),
    ])

  /// Removes the path, for privacy; a descriptor that never has a path keeps the kernel's text, such as
  /// `socket:[4711]`.
  mutating func leaveOutPath() {
    if let kind, kind.hasKernelsName { return }
    path = nil
    isCut = false
  }
}
