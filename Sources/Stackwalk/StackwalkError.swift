internal import Glibc

/// The reason why a module's file cannot be used.
public struct StackwalkError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; an open set.
  public struct Code: Sendable, Hashable {
    fileprivate let text: String
    /// The file does not exist, or this user may not read it.
    public static let cannotOpen = Code(text: "cannot be opened")
    /// A directory, a device, a FIFO.
    public static let notAFile = Code(text: "is not a regular file")
    /// Not a little-endian 64-bit ELF file, or one whose headers make no sense.
    public static let notELF = Code(text: "is not a 64-bit ELF file that can be read")
    /// Its build ID differs from the dump's.
    public static let notTheSameBuild = Code(text: "is not the same build as in the dump")
    /// The module has no build ID, so its files cannot be found.
    public static let noBuildID = Code(
      text: "has no build ID: have the linker make one (-Xlinker --build-id)")
    /// Neither a symbol table nor debug information.
    public static let noSymbols = Code(text: "has no symbols: it is stripped")
    /// The disk is full, or the directory is another user's.
    public static let cannotWrite = Code(text: "cannot be written")
  }

  public let code: Code
  public let path: String
  /// The error number; 0 if no system call failed.
  public let errno: Int32

  init(_ code: Code, path: String, errno: Int32 = 0) {
    self.code = code
    self.path = path
    self.errno = errno
  }

  public var description: String { "\(path) \(reason)" }

  /// The failure without the path.
  package var reason: String {
    errno == 0 ? code.text : "\(code.text): \(unsafe String(cString: strerror(errno)))"
  }
}
