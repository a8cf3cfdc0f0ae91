internal import Glibc

/// The reason why a minidump could not be written or read.
public struct MinidumpError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add more kinds.
  public struct Code: Sendable, Hashable {
    fileprivate let text: String
    /// The file cannot be written; `errno` shows the reason.
    public static let cannotWrite = Code(text: "the minidump could not be written")
    /// The contents are larger than a 32-bit file offset can address.
    public static let tooLarge = Code(text: "the minidump would be larger than 4 GiB")
    /// The file is shorter than a header, or does not start with a header.
    public static let notAMinidump = Code(text: "not a minidump")
    /// The processor is neither x86_64 nor arm64.
    public static let unsupportedArchitecture = Code(
      text: "a minidump of a processor this program does not read")
  }

  public let code: Code
  /// The operation that failed, or the unexpected value.
  public let context: String
  /// The system's error number; 0 if the system reported none.
  public let errno: Int32

  init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  public var description: String {
    guard errno != 0 else { return "\(code.text): \(context)" }
    return unsafe "\(code.text): \(context): \(String(cString: strerror(errno)))"
  }
}
