internal import CCrashLab
internal import CSignalSafe
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Threads that do nothing, so that a crash has company.
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
      while isRunning(thread) { usleep(1000) }
    }
  }

  /// True if the kernel says that a thread is in no system call; false if the kernel does not say it.
  ///
  /// Source: proc_pid_syscall(5).
  private static func isRunning(_ thread: Int32) -> Bool {
    let file = unsafe open("/proc/self/task/\(thread)/syscall", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var first: UInt8 = 0
    return unsafe read(file, &first, 1) == 1 && first == UInt8(ascii: "r")
  }

  @inline(never)
  private static func sleepForever() {
    while true { pause() }
  }
}
