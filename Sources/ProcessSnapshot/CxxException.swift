/// The C++ exception that the crashing thread had caught last when the process aborted.
///
/// One that nobody catches counts as caught by std::terminate().
public struct CxxException: Sendable, Equatable {
  /// The linkage name of its type, such as "St13runtime_error"; nil where it was lost.
  public var typeName: String?
  /// Its text, where the type keeps it as libstdc++'s own exceptions do.
  public var message: String?

  public init(typeName: String?, message: String? = nil) {
    self.typeName = typeName
    self.message = message
  }
}
