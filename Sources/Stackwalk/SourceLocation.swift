/// A place in a source file, as the compiler recorded it.
public struct SourceLocation: Sendable, Hashable {
  /// The file's path on the machine that built it; absolute but for compilers that were told to
  /// keep it short.
  public var file: String
  /// From 1; nil for code that no line stands for.
  public var line: Int?
  /// From 1; nil where it is not recorded.
  public var column: Int?
  /// True if no line stands for the code itself, and this is the last one in front of it in the
  /// same function, as debuggers show it.
  public var isApproximate: Bool

  public init(
    file: String, line: Int? = nil, column: Int? = nil, isApproximate: Bool = false
  ) {
    self.isApproximate = isApproximate
    self.file = file
    self.line = line
    self.column = column
  }
}
