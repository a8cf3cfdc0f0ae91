internal import Glibc

/// What a thread of this process does, and the CPU time it has used.
///
/// Source: proc_pid_stat(5), fields 3, 14 and 15.
struct ThreadActivity {
  /// The letter of proc(5).
  let state: UInt8
  /// Nanoseconds, in steps of a clock tick, a hundredth of a second.
  let processorTime: UInt64

  /// Nil if the thread has ended, or the kernel does not tell.
  init?(of threadID: Int32) {
    let descriptor = unsafe open("/proc/self/task/\(threadID)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    guard count > 0 else { return nil }
    self.init(
      statText: bytes[..<count], ticksPerSecond: UInt64(max(sysconf(Int32(_SC_CLK_TCK)), 1)))
  }

  /// Reads the file's text; nil if it has another form.
  init?(statText text: ArraySlice<UInt8>, ticksPerSecond: UInt64) {
    // Field 2, the name, may hold blanks and parentheses; no later field does.
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 12, let letter = fields[0].first,
      let user = UInt64(String(decoding: fields[11], as: UTF8.self)),
      let system = UInt64(String(decoding: fields[12], as: UTF8.self))
    else { return nil }
    state = letter
    let (sum, overflow) = user.addingReportingOverflow(system)
    guard !overflow, sum < 1 << 40, ticksPerSecond > 0 else { return nil }
    processorTime = sum * 1_000_000 / ticksPerSecond * 1000
  }

  /// True for a thread that a signal or a tracer stopped: T or t.
  var isStopped: Bool { state == UInt8(ascii: "T") || state == UInt8(ascii: "t") }
}
