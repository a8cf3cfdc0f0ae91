internal import CCrashLab
internal import Dispatch
internal import Glibc

/// Threads that do nothing, so that a crash has company.
enum Sleepers {
  /// Returns when all of them run: named `sleeper-1` and so on, asleep in pause(2) or about to be.
  static func start(_ count: Int, stackSize: Int?) {
    let started = DispatchSemaphore(value: 0)
    for number in 0..<count {
      _ = Thread.start(stackSize: stackSize) {
        unsafe crashlab_name_thread("sleeper-\(number + 1)")
        started.signal()
        sleepForever()
      }
    }
    for _ in 0..<count { started.wait() }
  }

  @inline(never)
  private static func sleepForever() {
    while true { pause() }
  }
}
