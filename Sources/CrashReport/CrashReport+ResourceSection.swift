extension CrashReport {
  /// What the process used of what it may use; nil where nothing is known.
  var resourceSection: ReportSection? {
    guard let resources else { return nil }
    var rows: [ReportSection.Row] = []
    func add(_ name: String, _ value: String?) {
      if let value { rows.append(.field(ReportField(name: name, value: value))) }
    }
    func add(_ name: String, _ usage: Resources.Usage, text: (UInt64) -> String) {
      guard let used = usage.used.map(text) ?? usage.limit.map({ _ in "unknown" }) else { return }
      add(name, used + (usage.limit.map { " of " + text($0) } ?? ""))
    }
    add("Open files", resources.openFiles) { String($0) }
    add("Mappings", resources.mappings) { String($0) }
    add("Threads", resources.threads.map { String($0) })
    add("Group memory", resources.controlGroupMemory, text: TextReport.size)
    add("Group tasks", resources.controlGroupTasks) { String($0) }
    add("Stack limit", resources.stackLimit.map(TextReport.size))
    add("Memory limit", resources.addressSpaceLimit.map { TextReport.size($0) + " of addresses" })
    add("Load", resources.loadAverage?.map { String($0) }.joined(separator: " "))
    return ReportSection("Resources", rows: rows)
  }
}
