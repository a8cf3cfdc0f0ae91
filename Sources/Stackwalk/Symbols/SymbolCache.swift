internal import IntermediateDump
internal import ProcessSnapshot

/// A store for small files that may be lost at any time.
package protocol SymbolStore: AnyObject {
  /// The contents of a file; nil if there is no file or it cannot be read.
  func contents(of name: String) -> [UInt8]?
  /// Replaces a file atomically; a failure is ignored.
  func replace(_ name: String, with bytes: [UInt8])
}

/// Keeps, in a file of a `SymbolStore`, the functions and inlined calls that were found at addresses of one build.
///
/// The cache is valid only if the build ID, and the sizes and modification times of the module's files, are the same
/// as when the cache was made. A damaged cache is ignored and written again.
///
/// All numbers are little-endian. The file has a magic number (4 bytes), a digest of the rest (8 bytes), the size of
/// the key (4 bytes), the key, then an entry for each address. An entry has the address (8 bytes), the number of
/// frames (2 bytes), and the frames, each of which begins with flags (1 byte). The flags show which fields follow in
/// the frame: a name (2 bytes for its size, then its text), a start (8 bytes), a file (like a name), a line (4 bytes)
/// and a column (4 bytes).
final class SymbolCache {
  private static let magic: UInt32 = 0x3153_4D50  // "PMS1"
  /// The approximate maximum size in bytes of a cache file; beyond this size, no more results are stored.
  private static let maximumSize = 2 << 20

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let name = Flags(rawValue: 1)
    static let start = Flags(rawValue: 2)
    static let location = Flags(rawValue: 4)
    static let inlined = Flags(rawValue: 8)
    static let approximate = Flags(rawValue: 16)
  }

  private let store: any SymbolStore
  private let fileName: String
  private let key: [UInt8]
  private var answers: [Address: [DebugInformation.Frame]] = [:]
  private var hasNews = false

  /// Reads the cache for a module from the store.
  ///
  /// - Returns: nil if the module has no build ID, or one of a single byte, or if `files` is empty.
  init?(of module: ModuleSnapshot, _ files: [ELFImage], in store: any SymbolStore) {
    guard module.buildID.count > 1, !files.isEmpty else { return nil }
    self.store = store
    fileName = module.buildID.hexadecimal + ".symbols"
    var key = module.buildID
    for image in files {
      key.append(littleEndian: image.elf.file.size)
      key.append(littleEndian: image.elf.file.modificationTime)
    }
    self.key = key
    read(store.contents(of: fileName) ?? [])
  }

  /// The function and the inlined calls at a link-time address; nil if they are not in the cache.
  func frames(at address: Address) -> [DebugInformation.Frame]? { answers[address] }

  func add(_ frames: [DebugInformation.Frame], at address: Address) {
    answers[address] = frames
    hasNews = true
  }

  /// Writes the cache to the store if anything was added.
  func save() {
    guard hasNews else { return }
    var rest: [UInt8] = []
    rest.append(littleEndian: UInt32(clamping: key.count))
    rest += key
    for (address, frames) in answers where rest.count < Self.maximumSize {
      Self.append(frames, at: address, to: &rest)
    }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.magic)
    bytes.append(littleEndian: DumpDigest.of(rest))
    store.replace(fileName, with: bytes + rest)
    hasNews = false
  }

  private static func append(
    _ frames: [DebugInformation.Frame], at address: Address, to bytes: inout [UInt8]
  ) {
    let texts = frames.flatMap { [$0.name, $0.location?.file] }.compactMap(\.self)
    // Frames with a line or a text that is too large for its field are not stored; they are looked up again each
    // time.
    guard let count = UInt16(exactly: frames.count),
      texts.allSatisfy({ $0.utf8.count <= UInt16.max }),
      frames.allSatisfy({ ($0.location?.line ?? 0) <= UInt32.max })
    else { return }
    bytes.append(littleEndian: address.value)
    bytes.append(littleEndian: count)
    for frame in frames {
      var flags: Flags = frame.isInlined ? [.inlined] : []
      if frame.name != nil { flags.insert(.name) }
      if frame.start != nil { flags.insert(.start) }
      if frame.location != nil { flags.insert(.location) }
      if frame.location?.isApproximate == true { flags.insert(.approximate) }
      bytes.append(flags.rawValue)
      if let name = frame.name { append(name, to: &bytes) }
      if let start = frame.start { bytes.append(littleEndian: start.value) }
      if let location = frame.location {
        append(location.file, to: &bytes)
        bytes.append(littleEndian: UInt32(clamping: location.line ?? 0))
        bytes.append(littleEndian: UInt32(clamping: location.column ?? 0))
      }
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(clamping: text.utf8.count))
    bytes += text.utf8
  }

  private func read(_ bytes: [UInt8]) {
    guard bytes.littleEndian(at: 0, as: UInt32.self) == Self.magic,
      bytes.littleEndian(at: 4, as: UInt64.self) == DumpDigest.of(bytes.dropFirst(12)),
      let size = bytes.littleEndian(at: 12, as: UInt32.self),
      bytes.dropFirst(16).prefix(Int(size)) == key[...]
    else { return }
    var cursor = DWARFReader(bytes, from: 16 + key.count)
    while !cursor.isAtEnd {
      let address = Address(cursor.unsigned(8))
      var frames: [DebugInformation.Frame] = []
      for _ in 0..<cursor.u16() where !cursor.hasFailed {
        frames.append(Self.frame(&cursor, bytes))
      }
      guard !cursor.hasFailed else {
        answers = [:]
        return
      }
      answers[address] = frames
    }
  }

  private static func frame(
    _ cursor: inout DWARFReader, _ bytes: [UInt8]
  ) -> DebugInformation.Frame {
    func text() -> String {
      let count = Int(cursor.u16())
      let start = cursor.offset
      cursor.skip(count)
      return cursor.hasFailed ? "" : String(decoding: bytes[start..<start + count], as: UTF8.self)
    }
    let flags = Flags(rawValue: cursor.u8())
    let name = flags.contains(.name) ? text() : nil
    let start = flags.contains(.start) ? Address(cursor.unsigned(8)) : nil
    var location: SourceLocation?
    if flags.contains(.location) {
      let file = text()
      let (line, column) = (cursor.unsigned(4), cursor.unsigned(4))
      location = SourceLocation(
        file: file, line: line > 0 ? Int(clamping: line) : nil,
        column: column > 0 ? Int(clamping: column) : nil,
        isApproximate: flags.contains(.approximate))
    }
    return DebugInformation.Frame(
      name: name, start: start, location: location, isInlined: flags.contains(.inlined))
  }
}
