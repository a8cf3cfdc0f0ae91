internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The thread that hangs, as far as the dump shows it.
package struct HangSubject: Sendable, Equatable {
  /// A thread that may be hanging, with its innermost calls.
  struct Candidate {
    let id: UInt32
    let name: String?
    let frames: [StackFrame]
  }

  /// The ID of the thread; nil if no thread is known to be involved.
  package let threadID: UInt32?
  /// True if the thread was in the program's own code.
  package let hasPlace: Bool
  /// The hung thread that waits for this thread, directly or through other threads; nil if none waits.
  package private(set) var waiter: UInt32?

  /// - Parameters:
  ///   - first: the thread that the dump names as hung, or as the last one to answer the hang monitor; if the dump
  ///     names none, the monitor's own thread.
  init(_ request: DumpRequest, first: UInt32?, _ threads: [Candidate], _ ownCode: OwnCode) {
    let monitor = request.threadEvidence == .some(.none) ? first : nil
    let others = threads.filter { $0.id != monitor && $0.name != "hang-monitor" }
    if request.threadEvidence == .known {
      threadID = first
      hasPlace = others.contains {
        $0.id == first && Self.place(in: $0.frames[...], ownCode) != nil
      }
      return
    }
    // If a queue or an executor hangs, prefer the thread `first` if it runs a job. Otherwise, use a thread that runs a
    // job, if all such threads are at the same place.
    let running = others.compactMap { thread in
      Self.callInJob(of: thread.frames, ownCode).map {
        (id: thread.id, place: ownCode.line(of: $0))
      }
    }
    if let same = running.first(where: { $0.id == first }) {
      (threadID, hasPlace) = (same.id, true)
    } else if let one = running.first, running.allSatisfy({ $0.place == one.place }) {
      (threadID, hasPlace) = (one.id, true)
    } else {
      (threadID, hasPlace) = (monitor == nil ? first : nil, false)
    }
  }

  /// The innermost call of the program's own code on a stack, except the first function of the program or a thread.
  private static func place(
    in frames: ArraySlice<StackFrame>, _ ownCode: OwnCode
  ) -> StackFrame? {
    frames.first { frame in
      ownCode.contains(frame) && !(frame.function.map { SignatureName($0).isEntry } ?? true)
    }
  }

  /// The innermost call of the program's own code in the job that a thread of a pool or an executor runs.
  private static func callInJob(of frames: [StackFrame], _ ownCode: OwnCode) -> StackFrame? {
    guard let end = frames.lastIndex(where: isRunner) else { return nil }
    return place(in: frames[..<end], ownCode)
  }

  private static func isRunner(_ frame: StackFrame) -> Bool {
    frame.linkageName.map { name in runners.contains(where: name.hasPrefix) } ?? false
  }

  /// Runtime functions that run a job; the optimizer may remove some of them from a stack.
  ///
  /// Source: swift stdlib/public/Concurrency/Actor.cpp;
  /// swift-corelibs-libdispatch src/queue.c.
  private static let runners = [
    "swift_job_run", "_ZN5swift34runJobInEstablishedExecutorContext", "_dispatch_client_callout",
    "_dispatch_call_block_and_release", "_dispatch_continuation_pop", "_dispatch_lane_invoke",
    "_dispatch_lane_serial_drain", "_dispatch_lane_concurrent_drain", "_dispatch_main_queue_drain",
    "_dispatch_source_invoke", "_dispatch_sync_function_invoke", "_dispatch_async_and_wait_invoke",
    "_dispatch_async_redirect_invoke", "_dispatch_root_queue_drain", "_dispatch_worker_thread",
  ]
}

extension HangSubject {
  /// Finds the thread that hangs; nil for a report that is not about a hang.
  init?(
    of snapshot: ProcessSnapshot, _ threads: [Candidate], _ ownCode: OwnCode, _ waits: Waits
  ) {
    guard let request = snapshot.request, request.kind == .hang else { return nil }
    let first = HangSubject(request, first: snapshot.exception?.threadID, threads, ownCode)
    self =
      first.owner(threads, ownCode, waits) ?? first.ofEventLoop(in: snapshot, threads, ownCode)
      ?? first
  }

  /// The last thread that answered the hang monitor, if no better evidence shows which thread hangs, and if this
  /// thread computes or sleeps in the program's own code.
  ///
  /// Such a thread may be the one that hangs: unlike an idle event loop, it is not waiting for work.
  private func ofEventLoop(
    in snapshot: ProcessSnapshot, _ threads: [Candidate], _ ownCode: OwnCode
  ) -> HangSubject? {
    guard !hasPlace, snapshot.request?.threadEvidence == .lastSeen,
      let thread = snapshot.threads.first(where: { $0.id == threadID }),
      let frames = threads.first(where: { $0.id == threadID })?.frames,
      Self.place(in: frames[...], ownCode) != nil
    else { return nil }
    let call = thread.systemCallNumber.flatMap(snapshot.architecture.systemCallName)
    let isBusy =
      thread.systemCallNumber == nil
      ? thread.state == "R" : call == "nanosleep" || call == "clock_nanosleep"
    return isBusy ? HangSubject(threadID: thread.id, hasPlace: true, waiter: nil) : nil
  }

  /// The last thread in the chain of waits that starts at the hung thread, or the first thread of a deadlock.
  ///
  /// Only threads in the program's own code count. The result is nil if there is no such thread, or if it is the hung
  /// thread itself and there is no deadlock.
  private func owner(
    _ threads: [Candidate], _ ownCode: OwnCode, _ waits: Waits
  ) -> HangSubject? {
    // If the thread `threadID` is not in the program's own code, and its waits lead to no deadlock, the thread may just
    // be idle. The waits of an idle thread explain nothing, so the first deadlock in the dump is used instead.
    let chain = threadID.map { waits.chain(from: $0) } ?? []
    let cycle = chain.last.flatMap { waits.deadlock(with: $0) }
    let isKnown = cycle != nil || hasPlace
    let shown = cycle ?? (isKnown ? nil : waits.deadlocks.first)
    let last = shown.map { $0.waits.prefix(1).map(\.threadID) } ?? (isKnown ? chain.reversed() : [])
    let owner = last.first { id in
      threads.contains { $0.id == id && Self.place(in: $0.frames[...], ownCode) != nil }
    }
    guard let owner, owner != threadID || cycle != nil else { return nil }
    let waits = owner != threadID && chain.contains(owner)
    return HangSubject(threadID: owner, hasPlace: true, waiter: waits ? threadID : nil)
  }

  private init(threadID: UInt32, hasPlace: Bool, waiter: UInt32?) {
    (self.threadID, self.hasPlace, self.waiter) = (threadID, hasPlace, waiter)
  }
}

extension Waits {
  /// The deadlock that a dump without a crash is about.
  ///
  /// If no deadlock contains the hanging thread, or no hanging thread is known, the first deadlock is used.
  func deadlock(of snapshot: ProcessSnapshot, _ hang: HangSubject?) -> Deadlock? {
    guard snapshot.request != nil else { return nil }
    return hang?.threadID.flatMap { deadlock(with: $0) } ?? deadlocks.first
  }
}
