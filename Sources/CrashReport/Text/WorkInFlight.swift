internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// The maximum number of units of work in a short report.
  private static let shownCount = 5
  /// The maximum number of characters of the line for a unit of work in a short report.
  private static let shownWidth = 76

  /// The units of work that had begun and not ended, the oldest first.
  func inFlightSection(isFull: Bool) -> ReportSection? {
    guard let open = snapshot.client.openContexts, open.count > 0 else { return nil }
    let works = open.works
    // The head shows the work of the crashing thread.
    let head = threads.first(where: \.crashed)?.contextFields ?? []
    if open.count == 1, let only = works.first, !head.isEmpty,
      only.values.map({ ReportField(name: $0.name, value: $0.value) }) == head
    {
      return nil
    }
    let shown = isFull ? works[...] : works.prefix(Self.shownCount)
    var parts = [Quantity.grouped(Int(clamping: open.count))]
    if let age = works.first.flatMap(age) { parts.append("oldest \(age)") }
    let hidden = works.count - shown.count
    if hidden > 0 { parts.append("\(Quantity.grouped(hidden)) more in the dump: --full") }
    let moment = snapshot.end == nil ? "" : " at the last heartbeat"
    var rows = shown.map { ReportSection.Row.text(line($0, isFull: isFull)) }
    if open.omittedCount > 0 {
      let count = Quantity.grouped(Int(clamping: open.omittedCount))
      rows.append(.text("\(count) of them are not listed"))
    }
    return ReportSection("In flight\(moment) (\(parts.joined(separator: "; ")))", rows: rows)
  }

  private func age(_ work: OpenContexts.Work) -> String? {
    age(since: work.uptime).map { Quantity.duration(Int64(clamping: $0)) }
  }

  /// The age and the values of a unit of work, such as "43 s: route=/export user=17".
  private func line(_ work: OpenContexts.Work, isFull: Bool) -> String {
    line(age(work) ?? "age not known", work, isFull: isFull)
  }

  /// A task and its unit of work, such as "task 17, in flight 43 s: route=/export user=17".
  func line(_ context: TaskOverview.Context, isFull: Bool) -> String {
    let age = age(context.work).map { " \($0)" } ?? ""
    return line("task \(context.task), in flight\(age)", context.work, isFull: isFull)
  }

  private func line(_ subject: String, _ work: OpenContexts.Work, isFull: Bool) -> String {
    let values = work.values.map { "\($0.name)=\($0.value)\($0.isCut ? "..." : "")" }
    let line = "\(subject): \(values.joined(separator: " "))"
    guard !isFull, line.count > Self.shownWidth else { return line }
    return line.prefix(Self.shownWidth - 3) + "..."
  }
}
