internal import CoreFile
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

/// The sources and settings for reading a core file.
struct CoreSource {
  /// Directories that are searched for the modules' files.
  var symbolDirectories: [String] = []
  /// False to read only the core file, and no files of modules.
  var readsFiles = true
  /// The directory for temporary files; nil for the default.
  var spool: String?
  /// Receives remarks that are shown in addition to the report.
  var warn: (String) -> Void = { _ in }

  /// Reads a core file from its bytes.
  func snapshot(of bytes: DumpBytes, named path: String) throws(ToolError) -> ProcessSnapshot {
    do throws(CoreError) {
      return try CoreReader.snapshot(
        of: bytes, symbolDirectories: symbolDirectories, readsFiles: readsFiles)
    } catch {
      throw ToolError(path: path, error)
    }
  }

  /// The contents of a compressed file; for an uncompressed file, the bytes themselves.
  ///
  /// - Parameter descriptor: the open file.
  func uncompressed(
    _ bytes: DumpBytes, _ descriptor: Int32, named path: String
  ) throws(ToolError) -> DumpBytes {
    guard let compression = Compression(of: bytes.slice(0..<min(8, bytes.count)) ?? []) else {
      return bytes
    }
    lseek(descriptor, 0, SEEK_SET)
    let contents = try compression.contents(of: descriptor, named: path, in: spool)
    if let failure = contents.failure { warn(failure) }
    return contents.bytes
  }
}

extension Arguments {
  /// The directories of the option `--symbols`.
  ///
  /// - Throws: `ToolError` if one of them is not a directory.
  func symbolDirectories() throws(ToolError) -> [String] {
    let directories = values(of: "--symbols")
    for directory in directories { try InputFile.requireDirectory(directory) }
    return directories
  }

  /// The settings from the options `--symbols`, `--no-symbols` and `--spool`.
  var coreSource: CoreSource {
    CoreSource(
      symbolDirectories: values(of: "--symbols"), readsFiles: !has("--no-symbols"),
      spool: self["--spool"],
      warn: { warn($0) })
  }
}
