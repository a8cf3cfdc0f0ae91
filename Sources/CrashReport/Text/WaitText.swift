internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// Text about which threads wait for which. As in a `ReportSection`, the text is not escaped.

extension CrashReport {
  /// Sentences about a deadlock, or about the waits of the hung thread; empty if neither is known.
  ///
  /// For a cycle of waiting threads, there is a sentence about the cycle and one about each of its threads. Otherwise,
  /// the sentences describe the first four waits in the chain that starts at the hung thread, and what the owners of
  /// the locks do; sentences about a deadlock of tasks follow, if there is one.
  var waitSentences: [String] {
    guard snapshot.end == nil else { return [] }
    if let deadlock = shownDeadlock {
      return [deadlock.sentence] + deadlock.waits.map { sentence(on: $0) }
    }
    return shownWaits.map { sentence(on: $0, tellsOwner: true) }
      + (shownTaskDeadlock?.sentences ?? [])
  }

  private var shownWaits: [Wait] {
    if let deadlock = shownDeadlock { return deadlock.waits }
    guard let hung = verdict.hang?.waiter ?? verdict.hang?.threadID else { return [] }
    return Array(waits.chain(from: hung).compactMap { waits.wait(of: $0) }.prefix(4))
  }

  /// The cycle of waiting threads that the report is about; nil if there is none.
  private var shownDeadlock: Deadlock? {
    if snapshot.request != nil { return waits.deadlock(of: snapshot, verdict.hang) }
    // Another process often ends a hung process with a signal, so the first deadlock in the dump is taken as the
    // explanation for such a signal.
    switch verdict.cause?.cause {
    case .sentSignal, .quitRequest, .watchdog, .ownSignal: return waits.deadlocks.first
    default: break
    }
    return threads.first { $0.crashed }.flatMap { waits.deadlock(with: $0.id) }
  }

  /// A sentence about a wait, such as "Thread 12 waits in f() at Pool.swift:31 for the mutex at 0x7f01, held by
  /// thread 7".
  ///
  /// - Parameter tellsOwner: true to add what the owner of the lock, or the thread whose end is awaited, is doing.
  func sentence(on wait: Wait, tellsOwner: Bool = false) -> String {
    let name = ownName(of: wait.threadID).map { " \"\($0)\"" } ?? ""
    let place = wait.place.map { " in \($0)" } ?? ""
    let certainly = wait.owner == nil || wait.isCertain ? "" : "most likely "
    let owner = wait.owner.map { owner -> String in
      let state = tellsOwner ? self.state(of: owner) ?? "" : ""
      return switch wait.subject {
      case .thread: " \(owner)" + state
      case _ where owner == wait.threadID: ", which it \(certainly)holds itself"
      case .queue: ", \(certainly)run by thread \(owner)" + state
      default: ", \(certainly)held by thread \(owner)" + state
      }
    }
    let readers =
      wait.readers > 0 ? ", held by \(Quantity.counted(UInt64(wait.readers), "reader"))" : ""
    return "Thread \(wait.threadID)\(name) waits\(place) for \(wait.noun)\(owner ?? readers)."
  }

  /// The thread's name; nil if it is only the process's name, which a thread has until it is given another name.
  private func ownName(of id: UInt32) -> String? {
    let name = threads.first { $0.id == id }?.name
    return threads.contains { $0.id == snapshot.process.processID && $0.name == name } ? nil : name
  }

  /// The end of a sentence that describes what the owner of a lock does; nil if `waits` contains a wait of the owner
  /// itself.
  func state(of owner: UInt32) -> String? {
    guard let thread = threads.first(where: { $0.id == owner }) else {
      let isWhole =
        snapshot.capture.isComplete && snapshot.capture.threadsOmitted.nonzero == nil
        && snapshot.request?.kind != .coreFile
      return isWhole ? ", which has ended" : ", which is not in the dump"
    }
    guard waits.wait(of: owner) == nil else { return nil }
    guard let number = thread.snapshot.systemCallNumber else { return ", which runs" }
    let call = snapshot.architecture.systemCallName(number) ?? "system call \(number)"
    return ", which is in \(call)"
  }

  /// A section about waits whose owner is known, and about waits for locks that readers hold.
  ///
  /// The waits that the head of the report already describes (`shownWaits`) are left out.
  var waitSection: ReportSection? {
    let known = waits.all.filter { wait in
      (wait.owner != nil || wait.readers > 0) && !shownWaits.contains(wait)
    }
    let rows = known.prefix(Self.waitCount).map {
      ReportSection.Row.text(sentence(on: $0, tellsOwner: true))
    }
    let rest = known.count - rows.count
    return ReportSection(
      "Who waits for whom",
      rows: rows + (rest > 0 ? [.text("\(rest) more threads wait for a lock.")] : []))
  }

  /// The maximum number of waiting threads that the section lists.
  private static let waitCount = 64
}

extension Deadlock {
  /// A sentence about the deadlock, such as "Deadlock: 2 threads wait for each other".
  var sentence: String {
    let doubt =
      if isCertain {
        ""
      } else if isOfOneMoment {
        " This is likely: not every lock's memory and not every stack confirms it."
      } else {
        " This is likely: the threads were not stopped, and may have continued during the dump."
      }
    guard waits.count > 1 else {
      let wait = waits.first
      return "Deadlock: thread \(wait?.threadID ?? 0) waits for itself.\(doubt)"
    }
    return "Deadlock: \(waits.count) threads wait for each other.\(doubt)"
  }
}

extension Wait {
  /// A phrase for the object that a thread waits for, such as "the mutex at 0x7f01".
  var noun: String {
    switch subject {
    case .mutex: "the mutex at \(address)"
    case .swiftMutex: "the Mutex at \(address)"
    case .readLock: "the read lock at \(address)"
    case .writeLock: "the write lock at \(address)"
    case .queue:
      label.map { "the queue \"\($0)\"" } ?? (address == 0 ? "a queue" : "the queue at \(address)")
    case .thread: owner == nil ? "the end of a thread" : "the end of thread"
    case .once: "an initialization (once) at \(address)"
    case .ownedLock: "the lock at \(address)"
    case .allocator: "a lock of the heap at \(address)"
    case .stream: "the lock of a stream at \(address)"
    case .condition: "a condition at \(address)"
    case .semaphore: "a semaphore at \(address)"
    case .group: "a group at \(address)"
    case .unknown: "an unknown lock at \(address)"
    }
  }
}
