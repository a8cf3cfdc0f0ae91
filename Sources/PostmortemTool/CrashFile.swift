internal import CoreFile
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// A file about a crashed process: an intermediate dump, a minidump or a core file, recognized by its first bytes.
struct CrashFile {
  let snapshot: ProcessSnapshot
  private let bytes: DumpBytes
  private let path: String

  init(at path: String, _ core: CoreSource = CoreSource()) throws(ToolError) {
    try self.init(try InputFile.dump(at: path, core), named: path, core)
  }

  /// Reads a crash file from its bytes; `path` is the name that errors show.
  init(
    _ bytes: DumpBytes, named path: String, _ core: CoreSource = CoreSource()
  ) throws(ToolError) {
    (self.bytes, self.path) = (bytes, path)
    do throws(ToolError) {
      snapshot = try Self.snapshot(of: bytes, named: path, core)
    } catch {
      try Self.checkReads(of: bytes, path)
      throw error
    }
  }

  private static func snapshot(
    of bytes: DumpBytes, named path: String, _ core: CoreSource
  ) throws(ToolError) -> ProcessSnapshot {
    switch try Format(of: bytes, named: path) {
    case .core: return try core.snapshot(of: bytes, named: path)
    case .intermediateDump:
      do throws(IntermediateDumpError) {
        // A dump from which the handler left out secrets is reduced by the same rules as in a conversion.
        return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
          .keeping(.full, symbols: SymbolSource())
      } catch {
        throw ToolError(path: path, error)
      }
    case .minidump:
      do throws(MinidumpError) {
        return try MinidumpReader.snapshot(of: bytes)
      } catch {
        throw ToolError(path: path, error)
      }
    }
  }

  enum Format {
    case core, intermediateDump, minidump

    /// Recognizes a file by its first 18 bytes; throws if it is none of these.
    init(of bytes: DumpBytes, named path: String) throws(ToolError) {
      let start = bytes.slice(0..<min(18, bytes.count)) ?? []
      if CoreReader.isCore(start) {
        self = .core
      } else if start.littleEndian(at: 0, as: UInt64.self) == IntermediateDumpFormat.magic {
        self = .intermediateDump
      } else if start.starts(with: Array("MDMP".utf8)) {
        self = .minidump
      } else {
        throw ToolError(
          path: path,
          UnreadCore(of: bytes)?.hint
            ?? "neither an intermediate dump nor a minidump nor a core file (byte 0)")
      }
    }
  }

  /// Throws if a part of the file, including stacks and memory, could not be read, because a report of the file would
  /// be incomplete.
  func checkReads() throws(ToolError) { try Self.checkReads(of: bytes, path) }

  private static func checkReads(of bytes: DumpBytes, _ path: String) throws(ToolError) {
    guard bytes.readError == 0 else {
      throw ToolError(path: path, "reading: " + ToolError.text(bytes.readError))
    }
  }
}
