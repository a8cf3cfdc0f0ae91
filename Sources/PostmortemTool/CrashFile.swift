internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot

/// A file that holds a crashed process: an intermediate dump or a minidump, told by its first bytes.
enum CrashFile {
  static func snapshot(at path: String) throws(ToolError) -> ProcessSnapshot {
    try snapshot(of: try InputFile.bytes(of: path), named: path)
  }

  /// Reads the bytes of one; the name is for errors.
  static func snapshot(of bytes: [UInt8], named path: String) throws(ToolError) -> ProcessSnapshot {
    if isIntermediateDump(bytes) {
      do throws(IntermediateDumpError) {
        return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
      } catch {
        throw ToolError(path: path, error)
      }
    }
    guard bytes.starts(with: Array("MDMP".utf8)) else {
      throw ToolError(path: path, "neither an intermediate dump nor a minidump (byte 0)")
    }
    do throws(MinidumpError) {
      return try MinidumpReader.snapshot(of: bytes)
    } catch {
      throw ToolError(path: path, error)
    }
  }

  private static func isIntermediateDump(_ bytes: [UInt8]) -> Bool {
    let magic = IntermediateDumpFormat.magic
    return bytes.starts(with: (0..<8).map { UInt8(truncatingIfNeeded: magic >> (8 * $0)) })
  }
}
