/// The constants of the intermediate dump: header, tokens and limits.
///
/// A dump is a 32-byte header followed by tokens. All integers are little-endian and unaligned.
/// `Docs/Internals/IntermediateDumpFormat.md` is the specification; a test checks it against bytes written
/// by hand.
public enum IntermediateDumpFormat {
  /// The first eight bytes: ASCII `PMDUMP`, then CR LF, so that a transfer in text mode is detected immediately.
  public static var magic: UInt64 { @_noLocks get { 0x0A0D_504D_5544_4D50 } }

  /// The version this code writes and the only one it reads.
  public static var version: UInt16 { @_noLocks get { 1 } }

  /// The number of bytes before the first token: magic (8), version (2), architecture (1), word size (1), header
  /// size (4), identifier of the writer (16).
  public static var headerSize: Int { @_noLocks get { 32 } }

  /// The number of bytes of a property before its payload: token (1), key (2), length (4).
  public static var propertyHeaderSize: Int { @_noLocks get { 7 } }

  /// The longest property that is written or read, in bytes.
  public static var maximumPropertySize: Int { @_noLocks get { 64 << 20 } }

  /// The deepest nesting that is written or read, without the root map.
  public static var maximumDepth: Int { @_noLocks get { 16 } }

  /// The maximum number of tokens that a reader reads from one dump; the rest counts as damage.
  ///
  /// 4,096 threads of 40 tokens each need far fewer, and a malicious file cannot make the reader's tree larger.
  public static let maximumTokenCount = 1 << 21

  /// The architecture byte of the header for the machine this code was compiled for.
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

/// The byte at the start of each token, which says what kind it is.
public enum IntermediateDumpToken {
  /// Followed by key (2), length (4) and that many bytes.
  public static var property: UInt8 { @_noLocks get { 0x01 } }
  /// Followed by key (2), then the map's contents.
  public static var startMap: UInt8 { @_noLocks get { 0x02 } }
  /// Closes the innermost open map.
  public static var endMap: UInt8 { @_noLocks get { 0x03 } }
  /// Followed by key (2), then maps only.
  public static var startArray: UInt8 { @_noLocks get { 0x04 } }
  /// Closes the innermost open array.
  public static var endArray: UInt8 { @_noLocks get { 0x05 } }
  /// The end of the dump; a dump without it is truncated.
  public static var endDocument: UInt8 { @_noLocks get { 0x06 } }
}
