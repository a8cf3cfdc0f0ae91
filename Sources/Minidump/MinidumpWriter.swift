internal import Glibc
public import ProcessSnapshot

/// Writes a snapshot as a minidump that Breakpad, Crashpad, LLDB and similar tools read.
public enum MinidumpWriter {
  /// Writes a whole minidump into an empty file.
  ///
  /// The signature in the header is written last, so no reader accepts an incomplete file as a minidump. The captured
  /// memory goes from the snapshot into the file without a copy. Data beyond the limits of Breakpad's reader (4,096
  /// threads, 2,048 modules, 4,096 memory regions) is left out. The crashing thread is never left out.
  ///
  /// - Parameters:
  ///   - snapshot: the snapshot to write. If data is missing, its stream is left out, or its field is zero.
  ///   - descriptor: an empty regular file that is open for writing, but without `O_APPEND`. The descriptor stays open,
  ///     and the file is not synchronized to disk.
  /// - Throws: `MinidumpError` with `cannotWrite` and the system's error number, or `tooLarge`.
  ///
  /// Source: Crashpad `minidump/minidump_file_writer.cc`; `Docs/Internals/Minidump.md`.
  public static func write(
    _ snapshot: ProcessSnapshot, to descriptor: Int32
  ) throws(MinidumpError) {
    var encoder = MinidumpEncoder(snapshot)
    let (head, memoryBase) = try encoder.encodeHead()
    try write(head[...], to: descriptor, at: 0)
    for piece in encoder.plan.pieces {
      var offset = memoryBase &+ piece.offset
      let range = piece.start..<piece.start + piece.count
      let contents = snapshot.memory.regions[piece.region].contents
      let isWhole = try contents.forEachSlice(of: range) { (slice) throws(MinidumpError) in
        try write(slice, to: descriptor, at: offset)
        offset &+= UInt64(slice.count)
      }
      guard isWhole else {
        throw MinidumpError(.cannotWrite, "memory that cannot be read from the dump", errno: EIO)
      }
    }
    var signature = MinidumpBuffer()
    signature.append(MinidumpFormat.signature)
    try write(signature.bytes[...], to: descriptor, at: 0)
  }

  private static func write(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: UInt64
  ) throws(MinidumpError) {
    let failure = unsafe bytes.withUnsafeBytes { buffer -> Int32 in
      var done = 0
      while done < buffer.count {
        let position = off_t(clamping: offset) + off_t(done)
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
        let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, position)
        if count > 0 {
          done += count
        } else if count == 0 {
          return EIO
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
    guard failure == 0 else {
      throw MinidumpError(
        .cannotWrite, "\(bytes.count) bytes at offset \(offset)", errno: failure)
    }
  }
}
