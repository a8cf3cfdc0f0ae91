internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// Text about the tasks of Swift concurrency that were found in memory. As in a `ReportSection`, the text is not escaped.

extension CrashReport {
  /// The maximum number of groups in a short report.
  private static let fewGroups = 8

  /// A section about all tasks, in groups of tasks that wait in the same place; nil if nothing searched for tasks.
  ///
  /// - Parameter isFull: true to list all groups whose functions were looked up.
  func taskSection(isFull: Bool) -> ReportSection? {
    guard let allTasks, allTasks.found.count > 0 else { return nil }
    let lines = taskLines(of: allTasks)
    let shown = lines.prefix(isFull ? lines.count : Self.fewGroups)
    var rows = shown.map { ReportSection.Row.text($0.sentence) }
    let rest = shown.reduce(allTasks.found.count) { $0.clampedSubtracting($1.count) }
    if rest > 0 { rows.append(.text("\(Quantity.counted(rest, "more task")) in other places")) }
    rows.append(.text(Self.searchSentence(allTasks.found)))
    return ReportSection("All tasks (\(allTasks.found.count))", rows: rows)
  }

  /// Tasks that are in the same state and the same place.
  fileprivate struct TaskLine {
    let state: TaskState
    let place: String?
    let caller: String?
    var count: UInt64 = 0
    var cancelledCount: UInt64 = 0
    var oldest = UInt64.max
    /// The IDs of the tasks that the known tasks wait for.
    var awaited: Set<UInt64> = []

    func isLike(_ other: TaskLine) -> Bool {
      (state, place, caller) == (other.state, other.place, other.caller)
    }
  }

  /// Joins groups that differ only in functions that the sentences do not name.
  private func taskLines(of tasks: TaskOverview) -> [TaskLine] {
    let ownCode = ownCode
    var lines: [TaskLine] = []
    for group in tasks.groups {
      let places = ownCode.taskPlaces(in: group.frames)
      let new = TaskLine(state: group.found.state, place: places.place, caller: places.caller)
      let index = lines.firstIndex { $0.isLike(new) } ?? lines.count
      if index == lines.count { lines.append(new) }
      lines[index].count = lines[index].count.clampedAdding(group.found.count)
      lines[index].cancelledCount =
        lines[index].cancelledCount.clampedAdding(group.found.cancelledCount)
      lines[index].oldest = min(lines[index].oldest, group.found.oldest)
      lines[index].awaited.formUnion(group.found.records.map(\.awaited))
    }
    return lines.sorted { ($1.count, $0.oldest) < ($0.count, $1.oldest) }
  }

  /// A sentence about how much memory was searched.
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
  /// A sentence such as "11 tasks wait for a continuation in Pool.lease() at Pool.swift:44, called by f() at g.swift:1".
  fileprivate var sentence: String {
    let noun = Quantity.counted(count, "task")
    let place = place.map { " in \($0)" } ?? ""
    let caller = caller.map { ", called by \($0)" } ?? ""
    var notes: [String] = []
    if oldest != .max { notes.append(count == 1 ? "task \(oldest)" : "oldest: task \(oldest)") }
    if cancelledCount > 0 { notes.append("\(cancelledCount) canceled") }
    let note = notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))"
    return "\(noun) \(verb)\(place)\(caller)\(note)"
  }

  private var verb: String {
    let isOne = count == 1
    let wait = isOne ? "waits for" : "wait for"
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
