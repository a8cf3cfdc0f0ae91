/// The constants of the intermediate dump: header and tokens.
///
/// A dump is a 32-byte header followed by tokens. All integers are little-endian and unaligned.
/// `Docs/Internals/IntermediateDumpFormat.md` is the specification; a test checks it against bytes written
/// by hand.
public enum IntermediateDumpFormat {
  /// The first eight bytes: ASCII `PMDUMP`, then CR LF, so that a file damaged by a text-mode transfer is detected.
  public static var magic: UInt64 { @_noLocks get { 0x0A0D_504D_5544_4D50 } }

  /// The version of the format that this code writes, and the only version that it reads.
  public static var version: UInt16 { @_noLocks get { 1 } }

  /// The size of the header in bytes: magic (8), version (2), architecture (1), word size (1), header size (4),
  /// identifier of the writer (16).
  public static var headerSize: Int { @_noLocks get { 32 } }

  /// The number of bytes before a property's payload: token (1 byte), key (2), length (4).
  public static var propertyHeaderSize: Int { @_noLocks get { 7 } }

  /// The word that replaces a removed word of memory: not an address, easy to recognize, and the same as in Crashpad.
  package static var replacedWord: UInt64 { @_noLocks get { 0x0DEF_ACED_0DEF_ACED } }

  /// The architecture byte of the header, for the machine for which this code was compiled.
  public static var currentArchitecture: UInt8 {
    @_noLocks get {
      #if arch(x86_64)
        1
      #elseif arch(arm64)
        2
      #else
        #error("swift-postmortem captures x86_64 and arm64 only")
      #endif
    }
  }
}

/// The first byte of each token, which gives the token's kind.
public enum IntermediateDumpToken {
  /// A property: this byte, the key (2 bytes), the length (4), and as many bytes as the length says.
  public static var property: UInt8 { @_noLocks get { 0x01 } }
  /// The start of a map: this byte, the key (2 bytes), and then the map's contents.
  public static var startMap: UInt8 { @_noLocks get { 0x02 } }
  /// The end of the innermost open map.
  public static var endMap: UInt8 { @_noLocks get { 0x03 } }
  /// The start of an array: this byte, the key (2 bytes), and then only maps.
  public static var startArray: UInt8 { @_noLocks get { 0x04 } }
  /// The end of the innermost open array.
  public static var endArray: UInt8 { @_noLocks get { 0x05 } }
  /// The end of the dump; a dump without this token is truncated.
  public static var endDocument: UInt8 { @_noLocks get { 0x06 } }
}

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
