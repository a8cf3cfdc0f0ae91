/// A parsed intermediate dump, with everything up to the first damaged byte.
public struct IntermediateDumpDocument: Sendable {
  /// Where a dump stops being readable, and why.
  public struct Damage: Sendable, Equatable, CustomStringConvertible {
    /// The number of bytes from the start of the file to the token that could not be read.
    public let offset: Int
    public let reason: String

    public var description: String { "\(reason) at byte \(offset)" }
  }

  /// The header's architecture byte: 1 for x86_64, 2 for arm64.
  public let architecture: UInt8
  /// The writer's identifier in the header, without trailing NULs and blanks.
  public let writer: String
  public let root: IntermediateDumpMap
  /// Where and why a truncated dump stops being readable; nil for a dump that ends in EndDocument and whose maps are
  /// all closed.
  ///
  /// A truncated dump can be read up to this place.
  public let damage: Damage?

  /// True if the dump could be read to its end mark, without damage.
  public var isComplete: Bool { damage == nil }

  /// Parses a dump; maps that were still open at the damage are kept.
  ///
  /// Parsing takes time linear in the size of the dump, and no input can make it trap.
  ///
  /// - Parameter bytes: the bytes of the whole file.
  /// - Throws: `IntermediateDumpError` only if nothing can be used: the file is shorter than a header, is not an
  ///   intermediate dump, or has a version, word size or header size that this code does not read. Damage after the
  ///   header is not an error; `damage` describes such damage.
  public init(parsing bytes: [UInt8]) throws(IntermediateDumpError) {
    try self.init(parsing: DumpBytes(bytes))
  }

  package init(parsing bytes: DumpBytes) throws(IntermediateDumpError) {
    let size = IntermediateDumpFormat.headerSize
    guard bytes.count >= size else {
      throw IntermediateDumpError(.tooShort, offset: bytes.count)
    }
    var cursor = IntermediateDumpCursor(bytes: bytes)
    guard cursor.integer(8) == IntermediateDumpFormat.magic else {
      throw IntermediateDumpError(.notAnIntermediateDump, offset: 0)
    }
    guard cursor.integer(2) == UInt64(IntermediateDumpFormat.version) else {
      throw IntermediateDumpError(.unknownVersion, offset: 8)
    }
    architecture = UInt8(truncatingIfNeeded: cursor.integer(1) ?? 0)
    guard cursor.integer(1) == 8 else {
      throw IntermediateDumpError(.unknownWordSize, offset: 11)
    }
    guard let headerSize = cursor.integer(4), headerSize >= size, headerSize <= bytes.count else {
      throw IntermediateDumpError(.invalidHeaderSize, offset: 12)
    }
    writer = String(
      decoding: (bytes.slice(16..<32) ?? []).prefix { $0 != 0 }, as: UTF8.self)
    cursor.offset = Int(clamping: headerSize)
    var parser = IntermediateDumpParser(cursor: cursor)
    root = parser.parseRoot()
    damage = parser.damage
  }
}

/// The reason why a file cannot be read as a dump at all.
public struct IntermediateDumpError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add kinds.
  public struct Code: Sendable, Hashable {
    fileprivate let text: String
    /// The file has fewer bytes than a header.
    public static let tooShort = Code(text: "too short for an intermediate dump's header")
    /// The file does not begin with the magic number of a dump.
    public static let notAnIntermediateDump = Code(
      text: "not an intermediate dump (wrong magic number)")
    /// The dump has a format version that this code does not read, for example because a later package wrote it.
    public static let unknownVersion = Code(
      text: "an intermediate dump of a version this program does not read")
    /// The dump's process was not a 64-bit process.
    public static let unknownWordSize = Code(
      text: "an intermediate dump of a word size other than 8")
    /// The header size stated in the header is smaller than a header or larger than the file.
    public static let invalidHeaderSize = Code(
      text: "an intermediate dump with an invalid header size")
  }

  public let code: Code
  /// The number of bytes from the start of the file to the error.
  public let offset: Int

  init(_ code: Code, offset: Int) {
    self.code = code
    self.offset = offset
  }

  public var description: String { "\(code.text), at byte \(offset)" }
}
