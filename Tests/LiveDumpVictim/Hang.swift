internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Something that is watched and hangs: `TARGET-MANNER-END`.
struct Hang {
  private static let threshold = Duration.milliseconds(400)
  private let target: String
  private let manner: String
  private let end: String

  init(_ scene: String) {
    let parts = scene.split(separator: "-").map(String.init)
    guard parts.count == 3 else { fail("unknown scene \(scene)") }
    (target, manner, end) = (parts[0], parts[1], parts[2])
  }

  func run() throws {
    // What should not be a hang leaves a report if it is taken for one.
    let keeps = end == "watched" || end == "kept"
    let options = HangMonitor.Options(threshold: Self.threshold, keepsRecovered: keeps)
    let hang: @Sendable () -> Void = { [self] in self.hang() }
    var stop: @Sendable () -> Void = {}
    switch target {
    case "main":
      let monitor = try HangMonitor.mainThread(options: options)
      stop = { monitor.stop() }
      DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(300)) { hang() }
      startEnd(stop)
      dispatchMain()
    case "queue":
      let queue = DispatchQueue(label: "victim.queue")
      try HangMonitor.queue(queue, options: options)
      queue.asyncAfter(deadline: .now() + .milliseconds(300)) { hang() }
    case "actor":
      let actor = Worker()
      try HangMonitor.actor(actor, name: "worker", options: options)
      Task {
        try await Task.sleep(for: .milliseconds(300))
        await actor.run(hang)
      }
    case "heartbeat":
      let monitor = try HangMonitor.heartbeat(name: "loop", options: options)
      stop = { monitor.stop() }
      startThread {
        for _ in 0..<10 {
          monitor.beat()
          usleep(20_000)
        }
        hang()
        while true {
          monitor.beat()
          usleep(20_000)
        }
      }
    default: fail("unknown target \(target)")
    }
    startEnd(stop)
    while true { sleep(600) }
  }

  private func hang() {
    guard manner != "never" else { return }
    say("hanging")
    if manner == "busy" { hangBusily() } else { hangIdly() }
    say("recovered")
  }

  private var lasts: Bool { !["recovers", "kept", "stoppedRecovers"].contains(end) }

  @inline(never)
  private func hangBusily() {
    var value: UInt64 = 1
    while lasts || value & 0xFFF_FFFF != 0 { value = value &* 6_364_136_223_846_793_005 &+ 1 }
    say(value)
  }

  @inline(never)
  private func hangIdly() {
    if lasts {
      while true { sleep(600) }
    }
    // Until the dump is there: the test must not depend on how fast this machine is.
    while !hasHangDump() { usleep(20_000) }
    while end == "stoppedRecovers", !isStopped.load(ordering: .acquiring) { usleep(20_000) }
    say("dump is there")
  }

  /// How the process ends, from a thread of its own.
  private func startEnd(_ stop: @escaping @Sendable () -> Void) {
    let (end, target) = (end, target)
    startThread {
      switch end {
      case "crashes":
        while !hasHangDump() { usleep(20_000) }
        unsafe UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1
      case "recovers", "kept":
        while !hasHangDump() { usleep(5_000) }
        while hasHangDump() { usleep(20_000) }
        say("dump is gone")
        exit(0)
      case "stopped", "stoppedExits", "stoppedQuits", "stoppedRecovers":
        while !hasHangDump() { usleep(5_000) }
        stop()
        isStopped.store(true, ordering: .releasing)
        say("stopped")
        if end == "stoppedExits" { exit(0) }
        if end == "stoppedQuits" { _exit(0) }
        while end == "stoppedRecovers", hasHangDump() { usleep(20_000) }
        if end == "stoppedRecovers" { exit(hasHangDump() ? 70 : 0) }
      case "watched":
        say("watching \(target)")
        // Ended by a line that the test sends after the standstill.
        _ = readLine()
        usleep(1_500_000)
        exit(0)
      default: break
      }
    }
  }
}

private let isStopped = Atomic(false)

private actor Worker {
  func run(_ body: @Sendable () -> Void) { body() }
}

private func hasHangDump() -> Bool {
  guard let folder = unsafe opendir(database + "/pending-serialized-dumps") else { return false }
  defer { unsafe closedir(folder) }
  while let entry = unsafe readdir(folder) {
    let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name.hasSuffix(".hang") { return true }
  }
  return false
}
