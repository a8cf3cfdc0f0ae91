internal import CrashAnalysis
internal import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

// Text about the tasks of Swift concurrency that were found in memory. As in a `ReportSection`, the text is not
// escaped.

extension CrashReport {
  /// The maximum number of groups of tasks in a short report.
  private static let fewGroups = 8

  /// A section about all tasks, in groups of tasks that wait in the same place; nil if no tasks are known.
  ///
  /// - Parameter isFull: true to list all groups whose functions were looked up; false to list at most `fewGroups`.
  func taskSection(isFull: Bool) -> ReportSection? {
    if let version = unknownTaskLayout {
      return ReportSection(
        "All tasks",
        rows: [
          .text(
            "not listed: the Swift runtime has a layout of tasks that is not known (version \(version))"
          )
        ])
    }
    guard let allTasks, allTasks.found.count > 0 else { return nil }
    let lines = taskLines(of: allTasks)
    let shown = lines.prefix(isFull ? lines.count : Self.fewGroups)
    var rows = shown.flatMap { line in
      [ReportSection.Row.text(line.sentence)]
        + line.contexts.prefix(TaskOverview.contextCount).map {
          .text("  " + self.line($0, isFull: isFull))
        }
    }
    let rest = shown.reduce(allTasks.found.count) { $0.clampedSubtracting($1.count) }
    if rest > 0 { rows.append(.text("\(Quantity.counted(rest, "more task")) in other places")) }
    let cycles = taskDeadlocks.filter { $0 != shownTaskDeadlock }
    rows += cycles.prefix(Self.fewGroups).map { .text($0.sentences.joined(separator: " ")) }
    rows.append(.text(Self.searchSentence(allTasks.found)))
    return ReportSection("All tasks (\(allTasks.found.count))", rows: rows)
  }

  /// The version of the runtime's layout of tasks, if it is not known and the report would otherwise list all tasks.
  var unknownTaskLayout: UInt32? {
    guard snapshot.request != nil, snapshot.allTasks == nil else { return nil }
    return snapshot.unknownTaskLayout
      ?? snapshot.tasks.map(\.layoutVersion).first { $0 != TaskLayout.version }
  }

  /// The thread that runs a task; nil if it is not known.
  func thread(running task: UInt64) -> UInt32? {
    threads.first { $0.task?.fields?.id == task }?.id
  }

  /// A sentence about the largest group of tasks that wait, such as "20 tasks wait for a continuation in Pool.lease() at
  /// Pool.swift:44.", sentences about the tasks for which these tasks wait, and one about the oldest unit of work to
  /// which they belong; empty if no task waits.
  var taskSentences: [String] {
    guard let allTasks else { return [] }
    let lines = taskLines(of: allTasks)
    guard let first = lines.firstIndex(where: { $0.isWait }) else { return [] }
    var chain = [first]
    while let last = chain.last, chain.count < Self.chainCount,
      let next = lines.indices.first(where: { lines[last].waits(for: lines[$0]) }),
      !chain.contains(next)
    {
      chain.append(next)
    }
    let work = chain.lazy.compactMap { lines[$0].contexts.first }.first
    let oldest = work.map { "The oldest: \(self.line($0, isFull: false))." }
    return chain.map { "\(lines[$0].sentence)." } + [oldest].compactMap(\.self)
  }

  /// The maximum number of sentences about tasks that wait for each other.
  private static let chainCount = 4

  /// Tasks that are in the same state and the same place.
  fileprivate struct TaskLine {
    let state: TaskState
    let pause: TaskPause?
    let place: String?
    let caller: String?
    var count: UInt64 = 0
    var cancelledCount: UInt64 = 0
    var oldest = UInt64.max
    var oldestName: String?
    /// The threads that run the tasks.
    var threads: [UInt32] = []
    var ids: Set<UInt64> = []
    /// The IDs of the tasks that created these tasks; 0 for an unknown task.
    var parents: Set<UInt64> = []
    /// The IDs of the tasks that these tasks wait for; 0 for an unknown task.
    var awaited: Set<UInt64> = []
    var contexts: [TaskOverview.Context] = []

    /// True if the tasks wait for something other than the end of a pause.
    var isWait: Bool { state.isWait && pause == nil }

    /// True if one of these tasks waits for one of the others, or for a task group that contains it.
    func waits(for other: TaskLine) -> Bool {
      !awaited.subtracting([0]).isDisjoint(with: other.ids)
        || state == .awaitsGroup && !ids.isDisjoint(with: other.parents)
    }

    func isLike(_ other: TaskLine) -> Bool {
      (state, pause, place, caller) == (other.state, other.pause, other.place, other.caller)
    }
  }

  /// Makes the lines of the task section; tasks in the same state whose lines would name the same calls share one line.
  private func taskLines(of tasks: TaskOverview) -> [TaskLine] {
    let ownCode = verdict.ownCode
    var lines: [TaskLine] = []
    for group in tasks.groups {
      let places = ownCode.taskPlaces(in: group.frames)
      let new = TaskLine(
        state: group.found.state, pause: group.pause, place: places.place, caller: places.caller)
      let index = lines.firstIndex { $0.isLike(new) } ?? lines.count
      if index == lines.count { lines.append(new) }
      lines[index].count = lines[index].count.clampedAdding(group.found.count)
      lines[index].cancelledCount =
        lines[index].cancelledCount.clampedAdding(group.found.cancelledCount)
      if group.found.oldest < lines[index].oldest {
        lines[index].oldest = group.found.oldest
        lines[index].oldestName = group.found.records.first?.name
      }
      if group.found.state == .running {
        lines[index].threads += group.found.records.compactMap { thread(running: $0.id) }
      }
      lines[index].ids.formUnion(group.found.records.map(\.id))
      lines[index].parents.formUnion(group.found.records.map(\.parent))
      lines[index].awaited.formUnion(group.found.records.map(\.awaited))
      lines[index].contexts = (lines[index].contexts + group.contexts).sorted { $0.task < $1.task }
    }
    return lines.sorted { ($1.count, $0.oldest) < ($0.count, $1.oldest) }
  }

  /// A sentence that says in how much memory the tasks were found, and how much was not searched.
  private static func searchSentence(_ tasks: AllTasks) -> String {
    let timers =
      tasks.timerCount > 0
      ? "; without \(Quantity.counted(tasks.timerCount, "timer")) of Task.sleep" : ""
    let unseen =
      tasks.bytesUnseen > 0
      ? "; \(Quantity.size(tasks.bytesUnseen)) were not searched, so tasks may be missing" : ""
    return "Found in \(Quantity.size(tasks.bytesSeen)) of memory\(timers)\(unseen)."
  }
}

extension CrashReport.TaskLine {
  /// The maximum number of threads that a line lists.
  private static let threadCount = 8

  /// A sentence such as "11 tasks wait for a continuation in Pool.lease() at Pool.swift:44, called by f() at
  /// g.swift:1".
  fileprivate var sentence: String {
    let noun = Quantity.counted(count, "task")
    let place = place.map { " in \($0)" } ?? ""
    let caller = caller.map { ", called by \($0)" } ?? ""
    var notes: [String] = []
    if oldest != .max {
      let name = oldestName.map { " \"\($0)\"" } ?? ""
      notes.append((count == 1 ? "task \(oldest)" : "oldest: task \(oldest)") + name)
    }
    if !threads.isEmpty {
      let shown = threads.prefix(Self.threadCount).map(String.init).joined(separator: ", ")
      notes.append(
        (threads.count == 1 ? "thread " : "threads ") + shown
          + (threads.count > Self.threadCount ? ", ..." : ""))
    }
    if cancelledCount > 0 { notes.append("\(cancelledCount) canceled") }
    let note = notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))"
    return "\(noun) \(verb)\(place)\(caller)\(note)"
  }

  private var verb: String {
    let isOne = count == 1
    let wait = isOne ? "waits for" : "wait for"
    switch pause {
    case .sleep: return isOne ? "sleeps (Task.sleep)" : "sleep (Task.sleep)"
    case .yield: return isOne ? "is ready to run (Task.yield)" : "are ready to run (Task.yield)"
    case nil: break
    }
    return switch state {
    case .running: isOne ? "runs on a thread" : "run on threads"
    case .ready: isOne ? "is ready to run" : "are ready to run"
    case .suspended: isOne ? "is suspended" : "are suspended"
    case .awaitsActor: "\(wait) an actor"
    case .awaitsGroup: "\(wait) a task group"
    case .awaitsContinuation: "\(wait) a continuation"
    case .awaitsTask:
      if awaited.count == 1, let id = awaited.first, id != 0 {
        "\(wait) task \(id)"
      } else {
        "\(wait) \(isOne ? "another task" : "other tasks")"
      }
    }
  }
}

extension TaskDeadlock {
  /// Sentences about the deadlock and its tasks, such as "Deadlock: 2 tasks wait for each other." and "Task 5 waits in
  /// f() at Pool.swift:31 for task 7.".
  var sentences: [String] {
    let doubt =
      isCertain ? "" : " This is likely: a group may have more tasks than the search has found."
    let first =
      waits.count > 1
      ? "Deadlock: \(waits.count) tasks wait for each other.\(doubt)"
      : "Deadlock: task \(waits.first?.id ?? 0) waits for itself.\(doubt)"
    let shown = waits.prefix(Self.shownCount).map { wait in
      "Task \(wait.id) waits\(wait.place.map { " in \($0)" } ?? "") for \(wait.noun)."
    }
    let rest = waits.count - shown.count
    return [first] + shown
      + (rest > 0 ? ["\(Quantity.counted(UInt64(rest), "more task")) in the cycle."] : [])
  }
}

extension TaskDeadlock.Wait {
  /// A phrase for what the task waits for, such as "task 7".
  var noun: String {
    isForGroup ? "its task group, whose only task is task \(awaited)" : "task \(awaited)"
  }
}

// The words that reports use for the priorities of tasks.

extension TaskSnapshot.Fields {
  /// Source: swift stdlib/public/Concurrency/Task.swift, `TaskPriority`.
  private static let priorities: [UInt8: String] = [
    0x21: "userInteractive", 0x19: "high", 0x15: "medium", 0x11: "low", 0x09: "background",
  ]

  private static func word(_ priority: UInt8) -> String { priorities[priority] ?? "\(priority)" }

  package var priorityWord: String { Self.word(priority) }

  /// The priority with which the task was created; nil if it is not known, or if the priority has not changed since
  /// then.
  var basePriorityWord: String? { basePriority.flatMap { $0 == priority ? nil : Self.word($0) } }
}
