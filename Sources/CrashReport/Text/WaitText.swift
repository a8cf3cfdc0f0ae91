internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// Text about which threads wait for which. As in a `ReportSection`, the text is not escaped.

extension CrashReport {
  /// Sentences about a deadlock, or about what else keeps the process from continuing; empty if neither is known.
  ///
  /// For a cycle of waiting threads, there is a sentence about the cycle and one about each of its threads. For a hang,
  /// the sentences describe the first four waits in the chain that starts at the hung thread, and what the owners of
  /// the locks do; sentences about a deadlock of tasks follow, if there is one.
  var waitSentences: [String] {
    guard snapshot.end == nil else { return [] }
    if let deadlock = shownDeadlock {
      return [deadlock.sentence] + deadlock.waits.map { sentence(on: $0) }
    }
    let waits = shownWaits
    let last = waits.last
    let possible =
      waits.count > 1 || last?.isRefused ?? false || last?.readers ?? 0 > 0
      ? last?.possibleDeadlock : nil
    let chain =
      waits.map { sentence(on: $0, tellsOwner: true) } + [possible].compactMap(\.self)
      + (shownTaskDeadlock?.sentences ?? [])
    return chain.isEmpty || standstill?.kind == .actor
      ? standstill.map(sentences) ?? [] : chain
  }

  private var shownWaits: [Wait] {
    if let deadlock = shownDeadlock { return deadlock.waits }
    guard let hung = verdict.hang?.waiter ?? verdict.hang?.threadID else { return [] }
    return Array(waits.chain(from: hung).compactMap { waits.wait(of: $0) }.prefix(4))
  }

  /// A sentence about a wait, such as "Thread 12 waits in f() at Pool.swift:31 for the mutex at 0x7f01, held by
  /// thread 7".
  ///
  /// - Parameter tellsOwner: true to add what the owner of the lock, or the thread whose end is awaited, is doing.
  func sentence(on wait: Wait, tellsOwner: Bool = false) -> String {
    let name = ownName(of: wait.threadID).map { " \"\($0)\"" } ?? ""
    let place = wait.place.map { " in \($0)" } ?? ""
    let limit = wait.hasLimit ? ", with a time limit," : ""
    let holder = holder(of: wait, tellsOwner: tellsOwner)
    return "Thread \(wait.threadID)\(name) waits\(place)\(limit) for \(wait.noun)\(holder)."
  }

  /// The end of a sentence that says who holds the lock; empty if it is not known.
  func holder(of wait: Wait, tellsOwner: Bool) -> String {
    let certainly = wait.isCertain ? "" : "most likely "
    if let owner = wait.absentOwner {
      let state = tellsOwner ? owner.state : ""
      return switch wait.subject {
      case .thread: " \(owner.id)" + state
      case .queue: ", \(certainly)run by thread \(owner.id)" + state
      case .fileLock:
        owner.id == snapshot.process.processID
          ? ", taken by this process"
          : ", taken by process \(owner.id)\(owner.name.map { " (\($0))" } ?? "")"
      default: ", \(certainly)held by thread \(owner.id)" + state
      }
    }
    guard let owner = wait.owner else {
      return wait.readers > 0
        ? ", held by \(Quantity.counted(UInt64(wait.readers), "reader"))" : ""
    }
    let state = tellsOwner ? self.state(of: owner) ?? "" : ""
    return switch wait.subject {
    case .thread: " \(owner)" + state
    case _ where owner == wait.threadID: ", which it \(certainly)holds itself"
    case .queue: ", \(certainly)run by thread \(owner)" + state
    default: ", \(certainly)held by thread \(owner)" + state
    }
  }

  /// The thread's name; nil if it is only the process's name, which a thread has until it is given another name.
  private func ownName(of id: UInt32) -> String? {
    let name = threads.first { $0.id == id }?.name
    return threads.contains { $0.id == snapshot.process.processID && $0.name == name } ? nil : name
  }

  /// The end of a sentence that describes what the owner of a lock does; nil if it is not known, or if the owner waits for
  /// another thread.
  func state(of owner: UInt32) -> String? {
    guard let thread = threads.first(where: { $0.id == owner }) else { return nil }
    if let wait = waits.wait(of: owner) {
      guard wait.owner == nil else { return nil }
      return ", which waits\(wait.place.map { " in \($0)" } ?? "") for \(wait.noun)"
    }
    let place = verdict.ownCode.place(in: thread.frames).map { " in \($0)" } ?? ""
    return thread.activity(snapshot.architecture).map { ", which \($0)\(place)" }
  }

  /// A section about the waits, one line for equal waits.
  ///
  /// The waits that the head of the report already describes are left out.
  var waitSection: ReportSection? {
    let shown = Set(shownWaits.map(\.threadID))
    let groups = waits.groups.filter { group in
      group != standstill?.group && !group.threads.allSatisfy(shown.contains)
    }
    let rows = groups.prefix(Self.waitCount).map { ReportSection.Row.text(sentence(on: $0)) }
    let rest = groups.dropFirst(Self.waitCount).reduce(0) { $0 + $1.threads.count }
    return ReportSection(
      "Who waits for whom",
      rows: rows + (rest > 0 ? [.text("\(rest) more threads wait.")] : []))
  }

  /// The maximum number of lines that the section lists.
  private static let waitCount = 64
}

extension ReportThread {
  /// What a thread does, such as "runs" or "is in read"; nil if it is not known.
  ///
  /// The kernel does not always show the system call. Then the function of a library in which the thread is blocked
  /// shows what it waits for.
  func activity(_ architecture: ProcessSnapshot.Architecture) -> String? {
    let note = snapshot.state == "D" ? ", in uninterruptible sleep" : ""
    let function = frames.first?.function.flatMap(SystemCallNames.call)
    // The thread that takes the dump runs because of it.
    if let function, snapshot.captureMethod == .crashed { return "is in \(function)" }
    if let number = snapshot.systemCallNumber {
      let call = architecture.systemCallName(number) ?? function ?? "system call \(number)"
      return "is in \(call)\(note)"
    }
    if snapshot.state == "R" { return "runs" }
    if let function { return "is in \(function)\(note)" }
    return switch snapshot.state {
    case "S": "waits"
    case "D": "is in uninterruptible sleep"
    default: nil
    }
  }
}

extension Wait.AbsentOwner {
  /// The end of a sentence that says why the owner is not in the dump.
  fileprivate var state: String {
    switch kind {
    case .ended: ", which has ended"
    case .parentProcess: " of the parent process, because fork copied the lock"
    case .otherProcess: " of another process"
    case .unknown: ", which this dump does not show"
    }
  }
}

extension Deadlock {
  /// A sentence about the deadlock, such as "Deadlock: 2 threads wait for each other".
  var sentence: String {
    let doubt =
      if isCertain {
        ""
      } else if hasLimit {
        " This is likely: a wait has a time limit, and may end by itself."
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
  /// A sentence about the condition under which other threads, which wait for this thread, are in a deadlock with it;
  /// nil if this thread waits for an object that shows its owner, or that no thread has to release.
  var possibleDeadlock: String? {
    if isRefused {
      return
        "The kernel did not let thread \(threadID) wait for the mutex: the mutex's owner waits for this thread,"
        + " is this thread, or has ended. Most likely this is a deadlock."
    }
    if readers > 0 { return possibleReader }
    let task: String? =
      switch subject {
      case .condition: "signal the condition"
      case .semaphore: "signal the semaphore"
      case .group: "leave the group"
      case .barrier: "reach the barrier"
      case .workItem: "finish the work item"
      case .operation: "finish the operation"
      case .future: "fulfill the future"
      default: nil
      }
    return task.map {
      "If a thread that waits for thread \(threadID) has to \($0), this is a deadlock."
    }
  }

  /// A sentence about the threads that may be the readers of a lock; nil if the readers do not block the thread.
  private var possibleReader: String? {
    switch references {
    case let others? where !others.isEmpty && others.count <= 4:
      let list = others.map(String.init).joined(separator: ", ")
      return others.count == 1
        ? "Thread \(list) has the lock's address in its registers or on its stack, and may be the reader."
        : "Threads \(list) have the lock's address in their registers or on their stacks, and may be readers."
    default: return "If thread \(threadID) itself is a reader of the lock, it waits for itself."
    }
  }

  /// A phrase for an object of a kind whose owner is never known, without its address.
  var kindNoun: String {
    switch subject {
    case .condition: "a condition"
    case .semaphore: "a semaphore"
    case .group: "a group"
    case .barrier: "a barrier"
    case .workItem: "a work item"
    case .operation: "an operation"
    case .future: "a future"
    case .once: "an initialization (once)"
    case .allocator: "a lock of the heap"
    case .thread: "the end of a thread"
    case .queue: "a queue"
    case .fileLock, .child, .write: noun
    case .unknown: "an unknown object"
    default: "a lock"
    }
  }

  /// A phrase for the object that a thread waits for, such as "the mutex at 0x7f01".
  var noun: String {
    switch subject {
    case .mutex:
      address == 0 ? "a mutex with priority inheritance" : "the mutex at \(address)"
    case .swiftMutex: "the Mutex at \(address)"
    case .readLock: "the read lock at \(address)"
    case .writeLock: "the write lock at \(address)"
    case .queue:
      label.map { "the queue \"\($0)\"" } ?? (address == 0 ? "a queue" : "the queue at \(address)")
    case .thread: knownOwner == nil ? "the end of a thread" : "the end of thread"
    case .once:
      address == 0
        ? "the initialization of a global variable" : "an initialization (once) at \(address)"
    case .ownedLock: "the lock at \(address)"
    case .allocator: "a lock of the heap at \(address)"
    case .stream: "the lock of a stream at \(address)"
    case .fileLock: label.map { "the lock of \($0)" } ?? "the lock of a file"
    case .child: label.map { "the end of child process \($0)" } ?? "the end of a child process"
    case .condition: "a condition at \(address)"
    case .semaphore: "a semaphore at \(address)"
    case .group: "a group at \(address)"
    case .barrier: "a barrier at \(address)"
    // The address is that of a part of the object.
    case .workItem, .operation, .future: kindNoun
    case .write: "room to write to \(label ?? "a file")"
    case .unknown: "an unknown object at \(address)"
    }
  }
}
