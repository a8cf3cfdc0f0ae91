internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// A file that holds a crashed process: an intermediate dump or a minidump, told by its first bytes.
enum CrashFile {
  static func snapshot(at path: String) throws(ToolError) -> ProcessSnapshot {
    try snapshot(of: try InputFile.dump(at: path), named: path)
  }

  /// Reads the bytes of one; the name is for errors.
  static func snapshot(of bytes: DumpBytes, named path: String) throws(ToolError) -> ProcessSnapshot
  {
    let start = bytes.slice(0..<min(8, bytes.count)) ?? []
    if start.littleEndian(at: 0, as: UInt64.self) == IntermediateDumpFormat.magic {
      do throws(IntermediateDumpError) {
        // A dump of a handler that leaves secrets out is read by the converter's rules too.
        return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
          .keeping(.full, symbols: SymbolSource())
      } catch {
        throw ToolError(path: path, error)
      }
    }
    guard start.starts(with: Array("MDMP".utf8)) else {
      throw ToolError(path: path, "neither an intermediate dump nor a minidump (byte 0)")
    }
    do throws(MinidumpError) {
      return try MinidumpReader.snapshot(of: bytes)
    } catch {
      throw ToolError(path: path, error)
    }
  }
}
