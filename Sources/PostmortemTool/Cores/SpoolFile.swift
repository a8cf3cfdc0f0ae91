internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// An unlinked temporary file for data that cannot be read twice: the bytes of a pipe, or the output of a program that
/// decompresses a file.
///
/// Blocks of zeros become holes, as in core files that the kernel writes. The file's space is freed when the last
/// descriptor is closed, at the latest when this process ends.
struct SpoolFile {
  /// The number of bytes of one block, which becomes a hole if all its bytes are 0.
  private static let blockSize = 1 << 16
  /// The maximum size of the file in bytes.
  ///
  /// The limit of 8 TiB stops endless input, such as /dev/zero. The holes of a core file count toward this limit too.
  private static let maximumSize = 1 << 43
  /// The number of bytes that are kept free on the file system, because other programs may need them.
  private static let reserve: UInt64 = 256 << 20
  /// The number of blocks between two checks of the free space.
  private static let lookEvery = 256

  let descriptor: Int32
  private let directory: String
  private var size = 0
  private var block: [UInt8] = []
  private var writtenBlocks = 0

  /// Creates a file.
  ///
  /// - Parameter directory: nil for TMPDIR or, if that is not set, for `/var/tmp`, which unlike `/tmp` is rarely in
  ///   memory.
  init(in directory: String?) throws(ToolError) {
    let environment = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
    let place = directory ?? (environment.isEmpty ? "/var/tmp" : environment)
    self.directory = place
    var path = Array((place + "/postmortem-XXXXXX").utf8CString)
    descriptor = unsafe mkstemp(&path)
    guard descriptor >= 0 else {
      throw ToolError(path: place, "cannot create a temporary file: " + ToolError.text(errno))
    }
    unsafe unlink(path)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  func close() { Glibc.close(descriptor) }

  /// Appends bytes.
  mutating func append(_ bytes: ArraySlice<UInt8>) throws(ToolError) {
    var rest = bytes
    while !rest.isEmpty {
      let taken = rest.prefix(Self.blockSize - block.count)
      block += taken
      rest = rest.dropFirst(taken.count)
      if block.count == Self.blockSize { try flush() }
    }
  }

  private mutating func flush() throws(ToolError) {
    defer { block.removeAll(keepingCapacity: true) }
    let end = size + block.count
    guard end <= Self.maximumSize else {
      throw ToolError("larger than \(Self.maximumSize >> 40) TiB, which no core file is")
    }
    if !block.isEmpty, !isZeros {
      if writtenBlocks % Self.lookEvery == 0 { try checkRoom() }
      writtenBlocks += 1
      try write()
    }
    size = end
  }

  /// True if all bytes of the block are 0, as in much of a core file.
  ///
  /// The first byte is 0, and memcmp checks that each byte equals the next one, which is fast.
  private var isZeros: Bool {
    guard block.first == 0 else { return false }
    return unsafe block.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return true }
      return unsafe memcmp(base, base + 1, bytes.count - 1) == 0
    }
  }

  private func write() throws(ToolError) {
    var done = 0
    while done < block.count {
      let count = unsafe block.withUnsafeBytes {
        unsafe pwrite(
          descriptor, $0.baseAddress.map { unsafe $0 + done }, $0.count - done,
          off_t(size + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw ToolError(
          path: directory, "\(ToolError.text(errno)); use --spool to name another directory")
      }
      done += count
    }
  }

  /// Throws before the file system is full, because other programs use the file system too.
  private func checkRoom() throws(ToolError) {
    var status = statvfs()
    guard unsafe fstatvfs(descriptor, &status) == 0 else { return }
    let free = UInt64(status.f_bavail).clampedMultiplied(by: UInt64(status.f_frsize))
    guard free > Self.reserve else {
      throw ToolError(
        path: directory,
        "less than \(Self.reserve >> 20) MiB are free; use --spool to name another directory")
    }
  }

  /// Finishes writing, and returns the file's bytes, which are read from the file on demand.
  mutating func finish() throws(ToolError) -> DumpBytes {
    try flush()
    guard ftruncate(descriptor, off_t(size)) == 0,
      let bytes = DumpBytes(descriptor: descriptor, count: size)
    else { throw ToolError(path: directory, ToolError.text(errno)) }
    return bytes
  }
}
