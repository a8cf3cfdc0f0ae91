internal import CoreFile
internal import Glibc
internal import IntermediateDump

extension InputFile {
  /// The maximum number of bytes from a pipe that are kept in memory; most minidumps are smaller.
  private static let maximumInMemory = 64 << 20

  /// Reads a dump from standard input.
  ///
  /// A regular file is read like a file that the command line names. Bytes from a pipe go through a temporary file if
  /// they are a core file or compressed, which can have any size, or if they are many. Reading stops as soon as the
  /// bytes are known not to be a dump: after the first ones, or at the maximum size.
  static func standardInput(_ core: CoreSource) throws(ToolError) -> DumpBytes {
    let name = "standard input"
    var status = stat()
    if unsafe fstat(0, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      return try dump(0, Int(status.st_size), named: name, core)
    }
    var start: [UInt8] = []
    var isLarge: Bool?
    var spool: SpoolFile?
    defer { spool?.close() }
    var count = 0
    try forEachPiece(of: 0, named: name) { (piece) throws(ToolError) in
      count += piece.count
      if spool != nil {
        try spool?.append(piece)
      } else {
        start += piece
      }
      guard count >= 18 else { return }
      if isLarge == nil {
        let bytes = DumpBytes(Array(start.prefix(18)))
        isLarge = Self.isLarge(bytes)
        if isLarge == false { _ = try CrashFile.Format(of: bytes, named: name) }
      }
      guard isLarge == true || count <= maximumSize else { throw tooLarge(name) }
      if spool == nil, isLarge == true || count > maximumInMemory {
        var made = try SpoolFile(in: core.spool)
        spool = made
        try made.append(start[...])
        spool = made
        start = []
      }
    }
    guard var made = spool else { return DumpBytes(start) }
    let bytes = try made.finish()
    return try core.uncompressed(bytes, made.descriptor, named: name)
  }

  /// True for a regular file that is a core file, or that may contain one, such as a compressed file.
  ///
  /// - Throws: `ToolError` if the file's status or, for a regular file, its contents cannot be read. Also throws for a
  ///   directory and for a file that contains a core file in a form that is not read. For a file of another kind, or
  ///   one that was removed in the meantime, the result is false.
  static func mayBeCore(_ path: String) throws(ToolError) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw ToolError(path: path, ToolError.text(errno))
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw ToolError(path: path, "a directory, whose files are not read; name it with --cores")
    }
    guard status.st_mode & S_IFMT == S_IFREG else { return false }
    return try withFile(path, limit: .max) { (descriptor, size) throws(ToolError) in
      guard let bytes = DumpBytes(descriptor: descriptor, count: size) else {
        throw ToolError(path: path, ToolError.text(errno))
      }
      let isCore = isLarge(bytes)
      if bytes.readError != 0 { throw ToolError(path: path, ToolError.text(bytes.readError)) }
      if let hint = UnreadCore(of: bytes)?.hint { throw ToolError(path: path, hint) }
      return isCore
    }
  }

  /// True for a core file, and for a file that may contain one, such as a compressed file.
  static func isLarge(_ bytes: DumpBytes) -> Bool {
    let start = bytes.slice(0..<min(18, bytes.count)) ?? []
    return CoreReader.isCore(start) || Compression(of: start) != nil
  }

  /// Reads a descriptor to its end, and passes on each piece.
  static func forEachPiece(
    of descriptor: Int32, named path: String,
    _ body: (ArraySlice<UInt8>) throws(ToolError) -> Void
  ) throws(ToolError) {
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes {
        unsafe read(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ToolError(path: path, ToolError.text(errno)) }
      guard count > 0 else { return }
      try body(piece[..<count])
    }
  }
}
