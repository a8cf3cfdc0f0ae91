internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Searches the kernel's log, if it can be read, for processes that were killed because memory ran out.
///
/// Source: Linux mm/oom_kill.c, __oom_kill_process; Documentation/ABI/testing/dev-kmsg.
enum KernelLog {
  /// The inode of the initial PID namespace, whose process IDs the log uses.
  ///
  /// Source: Linux include/linux/proc_ns.h, PROC_PID_INIT_INO.
  static let firstNamespace: UInt64 = 0xEFFF_FFFC

  /// Whether the log names the run's process by ID and by the name of its executable, and how many other processes it
  /// names, at times after the run's launch or at most a second before it.
  ///
  /// A program that was started by running the dynamic linker has the dynamic linker's name in the log.
  static func victims(since record: RunRecord) -> (namesRun: Bool, others: UInt64) {
    guard record.processNamespace == firstNamespace,
      let launch = record.course?.launch?.uptime,
      let name = record.course?.executablePath?.split(separator: "/").last
    else { return (false, 0) }
    // The log's clock stops while the machine is suspended, but the clock of the launch does not. So the time for which
    // the machine was suspended is added to the log's times.
    let asleep = SystemClock.sinceBoot &- SystemClock.awakeSinceBoot
    let victim = "Killed process \(record.processID) ("
    let victims = [victim + "\(String(name.utf8.prefix(15)) ?? ""))", victim + "ld-"]
    var others: UInt64 = 0
    for (time, text) in messages() {
      let uptime = time.clampedAdding(asleep).clampedAdding(1_000_000_000)
      guard uptime >= Int64(clamping: launch) else { continue }
      if victims.contains(where: text.contains) { return (true, others) }
      others &+= 1
    }
    return (false, others)
  }

  /// The messages about kills among the first 8,192 messages of the log, with their times in nanoseconds; empty if the
  /// log may not be read.
  private static func messages() -> [(time: Int64, text: String)] {
    let descriptor = unsafe open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      SystemRefusals.note(errno)
      return []
    }
    defer { close(descriptor) }
    var found: [(Int64, String)] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    for _ in 0..<8192 {
      // Each read returns one message; EPIPE means that some messages were lost.
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR || errno == EPIPE { continue }
      // EAGAIN only means that there is no further message, so it is not noted as a refusal.
      if count < 0, errno != EAGAIN { SystemRefusals.note(errno) }
      guard count > 0 else { break }
      if let message = parse(buffer[..<count]), message.text.contains("Killed process") {
        found.append(message)
      }
    }
    return found
  }

  /// Parses a message such as "6,1234,5678901,-;text", whose third number is the time in microseconds.
  static func parse(_ bytes: ArraySlice<UInt8>) -> (time: Int64, text: String)? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let semicolon = text.firstIndex(of: ";") else { return nil }
    let fields = text[..<semicolon].split(separator: ",", omittingEmptySubsequences: false)
    guard fields.count >= 3, let time = Int64(fields[2]) else { return nil }
    let line = text[text.index(after: semicolon)...].prefix { $0 != "\n" }
    return (time.clampedMultiplied(by: 1000), String(line))
  }
}
