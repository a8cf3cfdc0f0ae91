import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The thread that the report of a hang shows, and when it shows none.
@Suite struct HangSubjectTests {
  private static let monitor: UInt32 = 90

  private func request(_ evidence: DumpRequest.ThreadEvidence) -> DumpRequest {
    var request = DumpRequest()
    (request.kind, request.name, request.threadEvidence) = (.hang, "loop 3", evidence)
    return request
  }

  private static let snapshot: ProcessSnapshot = {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = ["/srv/shop", "/usr/lib/libc.so.6"].enumerated().map {
      ModuleSnapshot(address: Address(UInt64($0) << 20), size: 1 << 20, path: $1)
    }
    return snapshot
  }()

  private func stack(_ functions: String...) -> [StackFrame] {
    functions.map { name in
      StackFrame(name, module: ["epoll_wait", "futex_wait", "clone3"].contains(name) ? 1 : 0)
    }
  }

  private var idleLoop: [StackFrame] {
    stack("epoll_wait", "Shop.EventLoop.run() -> ()", "start_thread", "clone3")
  }

  private func blocked(in function: String) -> [StackFrame] {
    stack("futex_wait", function, "swift_job_runImpl", "_dispatch_client_callout", "clone3")
  }

  private var ownMonitor: [StackFrame] {
    stack("futex_wait", "HangDetection.HangWatcher.run() -> ()", "pm_start_thread", "clone3")
  }

  private func subject(
    _ evidence: DumpRequest.ThreadEvidence, first: UInt32, _ stacks: [UInt32: [StackFrame]]
  ) -> HangSubject {
    let threads = stacks.sorted { $0.key < $1.key }.map {
      HangSubject.Candidate(
        id: $0.key, name: $0.key == Self.monitor ? "hang-monitor" : nil, frames: $0.value)
    }
    let ownCode = OwnCode(of: Self.snapshot, frames: stacks.values.flatMap { $0 })
    return HangSubject(request(evidence), first: first, threads, ownCode)
  }

  @Test func anIdleLoopIsNotBlamed() {
    let idle = subject(.lastSeen, first: 1, [1: idleLoop, Self.monitor: ownMonitor])
    #expect(idle.threadID == 1 && !idle.hasPlace)
    // The monitor's own thread is not shown either.
    let unknown = subject(.none, first: Self.monitor, [1: idleLoop, Self.monitor: ownMonitor])
    #expect(unknown.threadID == nil && !unknown.hasPlace)
  }

  @Test func theJobThatBlocksThePoolIsThePlace() {
    let pool = blocked(in: "Shop.load() -> ()")
    for (evidence, first) in [(DumpRequest.ThreadEvidence.none, Self.monitor), (.lastSeen, 1)] {
      let found = subject(
        evidence, first: first, [1: idleLoop, 2: pool, 3: pool, Self.monitor: ownMonitor])
      #expect(found.threadID == 2 && found.hasPlace)
    }
  }

  /// Frames of a serial queue and of the main queue: libdispatch calls the block by a tail call.
  @Test(arguments: [
    ["_dispatch_continuation_pop", "_dispatch_lane_serial_drain", "_dispatch_worker_thread"],
    ["_dispatch_source_invoke", "_dispatch_lane_invoke"], ["_dispatch_worker_thread"],
    ["_dispatch_lane_barrier_sync_invoke_and_complete", "_dispatch_sync_function_invoke"],
  ])
  func aBlockOfAQueueIsAJob(_ runners: [String]) {
    let frames = ["futex_wait", "Shop.load() -> ()"] + runners + ["start_thread", "clone3"]
    let job = frames.map { StackFrame($0, module: $0 == "futex_wait" || $0 == "clone3" ? 1 : 0) }
    let found = subject(.lastSeen, first: 2, [1: idleLoop, 2: job, Self.monitor: ownMonitor])
    #expect(found.threadID == 2 && found.hasPlace)
  }

  /// A thread that waits for a queue does not run the queue's work.
  @Test func aThreadThatWaitsForAQueueIsNotBlamed() {
    let waiting = stack(
      "futex_wait", "__DISPATCH_WAIT_FOR_QUEUE__", "_dispatch_sync_f_slow", "Shop.ask() -> ()",
      "start_thread", "clone3")
    let found = subject(.lastSeen, first: 1, [1: waiting, Self.monitor: ownMonitor])
    #expect(found.threadID == 1 && !found.hasPlace)
  }

  /// An event loop has no function of the runtime around its work: its system call shows whether it waits for
  /// work.
  @Test(
    arguments: [
      (nil, "R", true), (35, "S", true), (230, "S", true), (232, "S", false), (202, "S", false),
      (nil, "S", false),
    ] as [(Int?, Character, Bool)])
  func aLoopThatComputesOrSleepsIsThePlace(_ call: Int?, _ state: Character, _ isFound: Bool) {
    var snapshot = Self.snapshot
    snapshot.request = request(.lastSeen)
    snapshot.exception = ExceptionSnapshot(threadID: 1)
    var thread = ThreadSnapshot(id: 1)
    (thread.systemCall, thread.state) = (call.map { "\($0) 0x1" }, state)
    snapshot.threads = [thread]
    let frames = stack("Shop.Handler.read() -> ()", "Shop.Loop.run() -> ()", "clone3")
    let subject = HangSubject(
      of: snapshot, [.init(id: 1, name: nil, frames: frames)],
      OwnCode(of: snapshot, frames: frames), Waits())
    #expect(subject?.threadID == 1 && subject?.hasPlace == isFound)
    // For a loop with only its first function, nothing is known.
    let idle = stack("clone3")
    let other = HangSubject(
      of: snapshot, [.init(id: 1, name: nil, frames: idle)],
      OwnCode(of: snapshot, frames: idle), Waits())
    #expect(other?.hasPlace == false)
  }

  @Test func ofSeveralPlacesNoneIsKnown() {
    let stacks: [UInt32: [StackFrame]] = [
      1: idleLoop, 2: blocked(in: "Shop.load() -> ()"), 3: blocked(in: "Shop.save() -> ()"),
    ]
    let unknown = subject(.none, first: Self.monitor, stacks)
    #expect(unknown.threadID == nil && !unknown.hasPlace)
    // The thread that answered last is running work.
    let seen = subject(.lastSeen, first: 3, stacks)
    #expect(seen.threadID == 3 && seen.hasPlace)
  }

  @Test func aKnownThreadIsThePlaceOnlyInOwnCode() {
    let waiting = subject(.known, first: 1, [1: stack("futex_wait", "main", "__libc_start_main")])
    #expect(waiting.threadID == 1 && !waiting.hasPlace)
    let blocked = subject(.known, first: 1, [1: stack("futex_wait", "Shop.load() -> ()", "main")])
    #expect(blocked.threadID == 1 && blocked.hasPlace)
  }

  @Test func withoutAPlaceTheNameIsTheSignature() {
    var snapshot = Self.snapshot
    snapshot.request = request(.none)
    snapshot.exception = ExceptionSnapshot(threadID: Self.monitor)
    var monitor = ThreadSnapshot(id: Self.monitor)
    monitor.name = "hang-monitor"
    snapshot.threads = [monitor, ThreadSnapshot(id: 1)]
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    #expect(report.signature == "hang | loop 3" && report.place == nil)
    #expect(!report.threads.contains { $0.crashed })
    #expect(report.explanation?.contains("is in the program's own code.") == true)
    let facts = Verdict(of: snapshot)
    #expect(facts.signature == report.signature && facts.place == nil)
  }
}
