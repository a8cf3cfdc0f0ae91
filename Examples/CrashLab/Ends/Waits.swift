internal import Glibc
internal import Postmortem

// Programs that another process ends; all except `main-thread` print `waiting` first.

extension WayToEnd {
  static let waits: [WayToEnd] = [
    WayToEnd("wait", "waits") { _ in
      say("waiting")
      waitForEver()
    },
    WayToEnd("handles-term", "exits at SIGTERM by a handler of its own") { _ in
      signal(SIGTERM) { _ in _exit(0) }
      say("waiting")
      waitForEver()
    },
    WayToEnd("ignores-term", "ignores SIGTERM") { _ in
      signal(SIGTERM, SIG_IGN)
      say("waiting")
      waitForEver()
    },
    WayToEnd("slow-term", "notes SIGTERM, prints 'noted' and goes on") { _ in
      signal(SIGTERM) { _ in
        noteTermination()
        _ = unsafe write(STDOUT_FILENO, "noted\n", 6)
      }
      say("waiting")
      waitForEver()
    },
    WayToEnd("heartbeat", "gives heartbeats under a hang monitor") { _ in
      say("waiting")
      try giveHeartbeats()
    },
    WayToEnd("hang", "gives one heartbeat under a hang monitor, and never again") { _ in
      say("waiting")
      let monitor = try startMonitor()
      withExtendedLifetime(monitor) { waitForEver() }
    },
    WayToEnd("lock-heartbeat", "gives heartbeats, and holds a lock on a file of its database") {
      end in
      let file = unsafe open((end.database ?? "") + "/locked", O_RDWR | O_CREAT, 0o600)
      guard file >= 0, flock(file, LOCK_EX) == 0 else { _exit(94) }
      say("waiting")
      try giveHeartbeats()
    },
    WayToEnd("eat", "uses more and more memory") { _ in
      say("waiting")
      while true {
        let size = 1 << 20
        let memory = unsafe mmap(
          nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { _exit(93) }
        unsafe memset(memory, 1, size)
      }
    },
    WayToEnd("main-thread", "ends its main thread, and waits for the end of its input") { _ in
      endMainThread()
    },
  ]
}

/// Starts a hang monitor, and gives one heartbeat.
private func startMonitor() throws -> HangMonitor {
  let monitor = try HangMonitor.heartbeat(
    name: "loop", options: .init(threshold: .milliseconds(200)))
  monitor.heartbeat()
  return monitor
}

private func giveHeartbeats() throws {
  let monitor = try startMonitor()
  while true {
    monitor.heartbeat()
    usleep(20_000)
  }
}
