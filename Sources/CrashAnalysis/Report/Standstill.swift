internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// What keeps the threads and tasks of a process from continuing: the verdict of a dump without a crash.
package struct Standstill: Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// Threads or tasks wait for each other.
    case deadlock
    /// Threads wait for a lock or another object whose owner is known, and the owner does not wait for another thread.
    case lock
    /// All threads of the pool of Swift concurrency are blocked, and tasks are ready to run.
    case pool
    /// Tasks wait for an actor that most likely is occupied by a thread.
    case actor
    /// Threads run in functions that take a lock, and may wait there in a loop.
    case spin
    /// Threads wait for an object that does not show its owner.
    case wait
    /// Tasks wait, and no thread explains it.
    case tasks
    /// The hung thread waits for no known object: it computes, or it is in a system call.
    case thread
    case none
  }

  package var kind: Kind
  /// The thread that the verdict is about: the owner of the lock, or a waiting thread; nil if there is none.
  package var threadID: UInt32?
  /// The number of threads, or of tasks for the kinds `pool`, `actor` and `tasks`, that wait.
  package var waiting: UInt64 = 0
  package var isCertain = true
  /// The blocked threads of the pool, for the kind `pool`.
  package var blocked: [UInt32] = []
  /// The waits that the verdict is about.
  package var group: WaitGroup?

  init(_ kind: Kind) { self.kind = kind }
}

extension Standstill {
  /// - Parameters:
  ///   - deadlock: the deadlock that the report is about.
  ///   - hang: the thread that hangs; nil for a report that is not about a hang.
  ///   - tasks: the tasks in memory; nil if they are not known.
  init(
    of snapshot: ProcessSnapshot, _ deadlock: Cause?, _ waits: Waits, _ hang: HangSubject?,
    _ threads: [ReportThread], _ tasks: TaskOverview?, _ ownCode: OwnCode
  ) {
    switch deadlock {
    case .deadlock(let deadlock):
      self.init(.deadlock)
      (threadID, isCertain) = (deadlock.waits.first?.threadID, deadlock.isCertain)
      waiting = UInt64(deadlock.waits.count)
      return
    case .taskDeadlock(let deadlock):
      self.init(.deadlock)
      (waiting, isCertain) = (UInt64(deadlock.waits.count), deadlock.isCertain)
      return
    default: break
    }
    let groups = waits.groups
    func group(of wait: Wait) -> WaitGroup? {
      groups.first { $0.threads.contains(wait.threadID) }
    }
    // A hang is about the thread that hangs, whatever other threads wait for.
    let hung = hang?.waiter ?? (hang?.hasPlace == true ? hang?.threadID : nil)
    let chain = hung.map { waits.chain(from: $0) } ?? []
    let own = chain.compactMap { waits.wait(of: $0) }
    let last = own.last
    let held =
      hung == nil
      ? waits.bottleneck?.wait : own.last { $0.knownOwner != nil || $0.readers > 0 }
    if let held {
      self.init(.lock)
      threadID = held.owner ?? held.threadID
      isCertain = held.isCertain || held.knownOwner == nil
      self.group = group(of: held)
      waiting = UInt64(self.group?.threads.count ?? 1)
      return
    }
    let pool = Pool(threads, snapshot, tasks, waits)
    if let pool, pool.isFull {
      self.init(.pool)
      (threadID, waiting, blocked) = (pool.blocked.first, pool.ready, pool.blocked)
      return
    }
    let occupant = pool.flatMap { $0.awaitsActor > 0 ? $0.occupant : nil }
    let spinning = threads.filter { SpinWait.isLikely($0, ownCode) }
    if let thread = hung == nil && occupant == nil
      ? spinning.first : spinning.first(where: { $0.id == hung })
    {
      self.init(.spin)
      (threadID, waiting, isCertain) = (thread.id, UInt64(spinning.count), false)
      return
    }
    if let hung, hung != occupant {
      self.init(last == nil ? .thread : .wait)
      threadID = hung
      self.group = last.flatMap(group)
      waiting = UInt64(self.group?.threads.count ?? 0)
      return
    }
    if let pool, let occupant {
      self.init(.actor)
      (threadID, waiting, isCertain) = (occupant, pool.awaitsActor, false)
      self.group = waits.wait(of: occupant).flatMap(group)
      return
    }
    let waitingTasks =
      tasks?.groups.filter { $0.found.state.isWait && $0.pause == nil }.map(\.found.count).max()
      ?? 0
    if let largest = groups.first, UInt64(largest.threads.count) >= waitingTasks {
      self.init(.wait)
      (threadID, self.group) = (largest.wait.threadID, largest)
      waiting = UInt64(largest.threads.count)
      return
    }
    self.init(waitingTasks > 0 ? .tasks : .none)
    waiting = waitingTasks
  }
}

extension TaskState {
  /// True if a task in this state waits for something that the runtime has recorded.
  package var isWait: Bool {
    switch self {
    case .awaitsActor, .awaitsTask, .awaitsGroup, .awaitsContinuation: true
    case .running, .ready, .suspended: false
    }
  }
}

/// The threads that run jobs of Swift concurrency.
struct Pool {
  /// The threads that are blocked in a job, in the program's own code.
  let blocked: [UInt32]
  let ready: UInt64
  let awaitsActor: UInt64
  /// True if all threads of the pool are blocked although tasks are ready to run.
  let isFull: Bool
  /// The only thread that can occupy an actor; nil if there is none, or more than one.
  ///
  /// Blocked threads of the pool are preferred to running ones. The main thread can occupy only the main actor.
  let occupant: UInt32?

  init?(
    _ threads: [ReportThread], _ snapshot: ProcessSnapshot, _ tasks: TaskOverview?,
    _ waits: Waits
  ) {
    guard let tasks else { return nil }
    func count(_ state: TaskState) -> UInt64 {
      tasks.found.groups.lazy.filter { $0.state == state }.reduce(0) {
        $0.clampedAdding($1.count)
      }
    }
    (ready, awaitsActor) = (count(.ready), count(.awaitsActor))
    let workers = threads.filter { thread in
      thread.frames.contains { $0.linkageName.map(Self.isJob) ?? false }
    }
    blocked = workers.filter(\.isBlocked).map(\.id)
    // The runtime makes as many threads as there are processors.
    let size = snapshot.system.processorCount.map { Int(clamping: $0) }
    isFull =
      ready > 0 && !blocked.isEmpty && blocked.count == workers.count
      && blocked.count >= size ?? .max
    let main = threads.first {
      $0.id == snapshot.process.processID
        && (waits.wait(of: $0.id)?.place != nil || $0.isInCall(snapshot.architecture))
    }
    let runners = workers.isEmpty ? [main?.id].compactMap(\.self) : workers.map(\.id)
    let candidates = blocked.isEmpty ? runners : blocked
    occupant = candidates.count == 1 ? candidates.first : nil
  }

  /// Source: swift stdlib/public/Concurrency/Actor.cpp.
  private static func isJob(_ name: String) -> Bool {
    name.hasPrefix("swift_job_run")
      || name.hasPrefix("_ZN5swift34runJobInEstablishedExecutorContext")
  }
}

extension ReportThread {
  /// True if the thread waits in a system call.
  var isBlocked: Bool {
    snapshot.systemCallNumber != nil || snapshot.state == "S" || snapshot.state == "D"
  }

  /// True if the thread is in a system call that does not wait for events, as an idle event loop does.
  fileprivate func isInCall(_ architecture: ProcessSnapshot.Architecture) -> Bool {
    let call =
      snapshot.systemCallNumber.flatMap(architecture.systemCallName)
      ?? frames.first?.function.flatMap(SystemCallNames.call)
    return call.map { !Self.eventCalls.contains($0) } ?? false
  }

  private static let eventCalls: Set = [
    "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6",
    "rt_sigsuspend", "rt_sigtimedwait", "futex",
  ]
}
