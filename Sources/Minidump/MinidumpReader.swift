package import IntermediateDump
public import ProcessSnapshot

/// Reads minidumps: ours, and those of Breakpad and Crashpad for Linux.
public enum MinidumpReader {
  /// Makes a snapshot of everything that a minidump tells.
  ///
  /// Total on any bytes, in memory bounded by a few times their count. A stream that is damaged is
  /// left out, or its readable entries are taken, and `capture.damage` says so. Values that a
  /// foreign writer did not record stay nil. One of ours gives the snapshot it was written from, except
  /// what the limits of the format cut off.
  ///
  /// - Parameter bytes: the whole file.
  /// - Returns: the snapshot. A missing stream is not an error.
  /// - Throws: `MinidumpError` only where nothing can be kept: `notAMinidump`, or
  ///   `unsupportedArchitecture`.
  public static func snapshot(of bytes: [UInt8]) throws(MinidumpError) -> ProcessSnapshot {
    try snapshot(of: DumpBytes(bytes))
  }

  package static func snapshot(of bytes: DumpBytes) throws(MinidumpError) -> ProcessSnapshot {
    var decoder = MinidumpDecoder(file: try MinidumpFile(bytes))
    return try decoder.decode()
  }
}
