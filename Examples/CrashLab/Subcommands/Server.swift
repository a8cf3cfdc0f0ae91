internal import Glibc
internal import Postmortem
internal import Synchronization

/// Eight threads in system calls that a signal would interrupt, and a busy thread; counts the interrupted calls.
final class Server: Sendable {
  private let interrupted = Atomic<Int>(0)
  private let waiting = Atomic<Int>(0)

  /// Takes three dumps, and prints `interrupted COUNT`.
  func dump(_ handler: Handler, stopsThreads: Bool) throws {
    try startThreads()
    for _ in 0..<3 { say(try handler.dumpWithoutCrash(stopsThreads: stopsThreads)) }
    if stopsThreads {
      // Wait until the stopped threads have run again.
      while interrupted.load(ordering: .relaxed) < 8 { usleep(1000) }
    }
    say("interrupted \(interrupted.load(ordering: .relaxed))")
  }

  private func startThreads() throws {
    var pipe: (Int32, Int32) = (0, 0)
    _ = unsafe withUnsafeMutablePointer(to: &pipe) { pointer in
      unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe Glibc.pipe($0) }
    }
    let input = pipe.0
    for _ in 0..<4 {
      Thread.start {
        self.waitAgainAndAgain {
          var time = timespec(tv_sec: 600, tv_nsec: 0)
          return unsafe nanosleep(&time, nil)
        }
      }
      Thread.start {
        self.waitAgainAndAgain {
          var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
          return unsafe poll(&descriptor, 1, 600_000)
        }
      }
    }
    Thread.start { spinForEver() }
    while waiting.load(ordering: .relaxed) < 8 { usleep(1000) }
    while Self.blockedThreads() < 8 { usleep(1000) }
  }

  private func waitAgainAndAgain(_ wait: () -> Int32) {
    waiting.add(1, ordering: .relaxed)
    while true {
      if wait() < 0, errno == EINTR { interrupted.add(1, ordering: .relaxed) }
    }
  }

  /// The number of threads that `/proc` shows in a system call, without this thread.
  private static func blockedThreads() -> Int {
    guard let directory = unsafe opendir("/proc/self/task") else { return 0 }
    defer { unsafe closedir(directory) }
    var count = 0
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let file = unsafe fopen("/proc/self/task/\(name)/syscall", "r") else { continue }
      defer { unsafe fclose(file) }
      let first = unsafe fgetc(file)
      if first >= 0x30, first <= 0x39 { count += 1 }
    }
    return count - 1
  }
}

@inline(never)
func spinForEver() {
  var value: UInt64 = 1
  while value != 0 { value = value &* 6_364_136_223_846_793_005 &+ 1 }
  // Not reached in practice; keeps the optimizer from removing the loop.
  say(value)
}
