import CSignalSafe
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Synchronization
import Testing

/// The signal of the watchdog's timer, sent by another process.
@Suite struct TickTests {
  /// Sends signals as fast as a processor can.
  private final class Flood: Sendable {
    /// Shows when the process has ended; after that, another process may have its ID.
    private let descriptor: Int32
    private let isOver = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ process: Int32, _ signal: Int32) throws {
      descriptor = pm_open_process(process)
      try #require(descriptor >= 0)
      Thread.detachNewThread { [self] in
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while !isOver.load(ordering: .relaxed), unsafe poll(&entry, 1, 0) == 0 {
          _ = pm_queue_signal(process, process, signal, 0)
        }
        ended.signal()
      }
    }

    deinit { close(descriptor) }

    func finish() {
      isOver.store(true, ordering: .relaxed)
      ended.wait()
    }
  }

  @Test func theyNeitherCutADumpNorHoldItUp() async throws {
    let victim = try await LiveVictim()
    // The kernel limits the pending signals of all processes of a user together: without its own limit, the flood
    // would leave none for the proofs that run at the same time.
    let running = try RunningVictim(
      "/usr/bin/prlimit",
      [
        "--sigpending=10000", victim.executable, "live-dump", "obeying", "--database",
        victim.database,
      ])
    try running.waitForLine("ready")
    let record = try victim.runRecord()
    let signal = try #require(record.signals).watchdog
    let flood = try Flood(running.processID, Int32(bitPattern: signal))
    try running.ask("dump-stopped")
    running.signal(SIGSEGV)
    let end = running.waitForEnd()
    flood.finish()
    #expect(end == SIGSEGV)
    let lines = try await victim.process()
    #expect(lines.count == 2 && lines.allSatisfy { !$0.contains("torn") }, "\(lines)")
    for report in try victim.reports() {
      let capture = try victim.snapshot(of: report).capture
      #expect(capture.isComplete && capture.sectionsAbandoned ?? 0 == 0)
    }
  }
}
