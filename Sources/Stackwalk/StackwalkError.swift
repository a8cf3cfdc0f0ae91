internal import Glibc

/// Why a module's file cannot be used, or a file with symbols cannot be written.
public struct StackwalkError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; later versions may add more kinds.
  public struct Code: Sendable, Hashable {
    fileprivate let text: String
    /// The file cannot be opened, for example because it does not exist or this process may not read it.
    public static let cannotOpen = Code(text: "cannot be opened")
    /// The path names, for example, a directory, a device or a FIFO.
    public static let notAFile = Code(text: "is not a regular file")
    /// The file is not a little-endian 64-bit ELF file, or its headers are invalid.
    public static let notELF = Code(text: "is not a 64-bit ELF file that can be read")
    /// The build ID of the file differs from the one in the dump.
    public static let notTheSameBuild = Code(text: "is not the same build as in the dump")
    /// The dump has no build ID of the module, so it is not known whether the file is of the same build.
    public static let unknownBuild = Code(
      text: "may be of another build: the dump does not have the module's build ID")
    /// The file has no build ID, by which files with symbols are found.
    public static let noBuildID = Code(
      text: "has no build ID: have the linker make one (-Xlinker --build-id)")
    /// The file has neither a symbol table nor debug information.
    public static let noSymbols = Code(text: "has no symbols: it is stripped")
    /// Writing failed, for example because the disk is full or the directory belongs to another user.
    public static let cannotWrite = Code(text: "cannot be written")
  }

  public let code: Code
  public let path: String
  /// The error number of the failed system call; 0 if none failed.
  public let errno: Int32

  init(_ code: Code, path: String, errno: Int32 = 0) {
    self.code = code
    self.path = path
    self.errno = errno
  }

  public var description: String { "\(path) \(reason)" }

  /// The description of the error without the path.
  package var reason: String {
    errno == 0 ? code.text : "\(code.text): \(unsafe String(cString: strerror(errno)))"
  }
}
