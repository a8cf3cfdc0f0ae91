internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// The compressions of core files, named after the programs that decompress them.
///
/// systemd-coredump uses zstd by default.
enum Compression: String, CaseIterable {
  case zstd, lz4, xz, gzip, bzip2

  /// The first bytes of a file with this compression.
  ///
  /// Source: RFC 8878, 3.1.1; LZ4 Frame Format, "Magic Number"; The .xz File Format, 2.1.1.1; RFC 1952, 2.3.1; bzip2 manual, 1.0.8.
  private var magic: [UInt8] {
    switch self {
    case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
    case .lz4: [0x04, 0x22, 0x4D, 0x18]
    case .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0]
    case .gzip: [0x1F, 0x8B, 0x08]
    case .bzip2: [0x42, 0x5A, 0x68]
    }
  }

  /// The compression of a file, found by its first bytes; nil for a file without one of these compressions.
  init?(of start: ArraySlice<UInt8>) {
    guard let found = Self.allCases.first(where: { start.starts(with: $0.magic) }) else {
      return nil
    }
    self = found
  }

  /// The path of the program that decompresses, found in PATH; nil if it is not found.
  private var program: String? {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
    return directories.split(separator: ":").lazy.map { "\($0)/\(rawValue)" }
      .first { unsafe access($0, X_OK) == 0 }
  }

  /// Decompresses a file into a temporary file.
  ///
  /// - Parameters:
  ///   - descriptor: the file, positioned at its start.
  ///   - path: the path that errors show.
  ///   - directory: the directory for the temporary file, as for `SpoolFile`.
  /// - Returns: the contents, and a sentence if the decompression program could not read all of the file.
  func contents(
    of descriptor: Int32, named path: String, in directory: String?
  ) throws(ToolError) -> (bytes: DumpBytes, failure: String?) {
    guard let program else {
      throw ToolError(
        path: path, "compressed with \(rawValue): install the program \(rawValue) to read it")
    }
    let (output, errors) = (try SpawnedProcess.pipe(), try SpawnedProcess.pipe())
    defer {
      close(output.reading)
      close(errors.reading)
    }
    let process: SpawnedProcess
    do {
      defer {
        close(output.writing)
        close(errors.writing)
      }
      process = try SpawnedProcess(
        [program, "-d", "-c"], input: .descriptor(descriptor),
        output: .descriptor(output.writing), errors: .descriptor(errors.writing))
    }
    var spool = try SpoolFile(in: directory)
    defer { spool.close() }
    try InputFile.forEachPiece(of: output.reading, named: path) { (piece) throws(ToolError) in
      try spool.append(piece)
    }
    var said: [UInt8] = []
    try InputFile.forEachPiece(of: errors.reading, named: path) { said += $0 }
    let end = process.wait()
    let bytes = try spool.finish()
    guard end.exitStatus != 0 else { return (bytes, nil) }
    let lines = String(decoding: said, as: UTF8.self).split(separator: "\n")
    let reason = lines.first.map(String.init) ?? "it failed"
    guard bytes.count > 0 else { throw ToolError(path: path, "\(rawValue): \(reason)") }
    return (bytes, "\(rawValue) could not read all of it: \(reason)")
  }
}
