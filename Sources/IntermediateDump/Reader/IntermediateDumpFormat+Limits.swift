/// The limits of code that reads intermediate dumps.
extension IntermediateDumpFormat {
  /// The maximum size in bytes of a property that a reader accepts.
  public static var maximumPropertySize: Int { 64 << 20 }

  /// The maximum depth of nesting that a reader accepts, not counting the root map.
  public static var maximumDepth: Int { 16 }

  /// The maximum number of tokens that a reader reads from one dump; all further tokens count as damage.
  ///
  /// A real dump needs far fewer: 4,096 threads with 40 tokens each are about 164,000 tokens. The limit bounds the size
  /// of the tree that a reader builds from a malicious file.
  public static let maximumTokenCount = 1 << 21
}
