internal import CCrashLab
internal import CSignalSafe
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Threads that only sleep, for crashes in a process with many threads.
enum Sleepers {
  /// Returns when all of them are asleep in pause(2), named `sleeper-1` and so on.
  static func start(_ count: Int, stackSize: Int?) {
    let started = DispatchSemaphore(value: 0)
    let threads = Mutex<[Int32]>([])
    for number in 0..<count {
      _ = Thread.start(stackSize: stackSize) {
        unsafe crashlab_name_thread("sleeper-\(number + 1)")
        threads.withLock { $0.append(pm_gettid()) }
        started.signal()
        sleepForever()
      }
    }
    for _ in 0..<count { started.wait() }
    for thread in threads.withLock({ $0 }) {
      while !isAsleep(thread) { usleep(1000) }
    }
  }

  /// True if the kernel says that a thread sleeps, or does not say its state.
  ///
  /// The file `syscall` does not show this: under ptrace, it has a number as soon as the thread is stopped at the entry
  /// of a call, before the thread sleeps.
  ///
  /// Source: proc_pid_stat(5).
  private static func isAsleep(_ thread: Int32) -> Bool {
    let file = unsafe open("/proc/self/task/\(thread)/stat", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return true }
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = unsafe read(file, &text, text.count)
    // The state follows the name, which is in parentheses.
    guard let end = text.prefix(max(count, 0)).lastIndex(of: UInt8(ascii: ")")), end + 2 < count
    else { return true }
    return text[end + 2] == UInt8(ascii: "S")
  }

  @inline(never)
  private static func sleepForever() {
    while true { pause() }
  }
}
