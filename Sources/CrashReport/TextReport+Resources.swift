extension TextReport {
  /// The section on what the process used of what it may use; nothing where nothing is known.
  mutating func addResources() {
    guard let resources = report.resources else { return }
    var rows: [(name: String, value: String)] = []
    func add(_ name: String, _ usage: CrashReport.Resources.Usage, text: (UInt64) -> String) {
      guard let used = usage.used.map(text) ?? usage.limit.map({ _ in "unknown" }) else { return }
      rows.append((name, used + (usage.limit.map { " of " + text($0) } ?? "")))
    }
    add("Open files", resources.openFiles) { String($0) }
    add("Mappings", resources.mappings) { String($0) }
    if let threads = resources.threads { rows.append(("Threads", String(threads))) }
    add("Group memory", resources.controlGroupMemory, text: Self.size)
    add("Group tasks", resources.controlGroupTasks) { String($0) }
    if let limit = resources.stackLimit { rows.append(("Stack limit", Self.size(limit))) }
    if let limit = resources.addressSpaceLimit {
      rows.append(("Memory limit", Self.size(limit) + " of addresses"))
    }
    if let load = resources.loadAverage {
      rows.append(("Load", load.map { String($0) }.joined(separator: " ")))
    }
    guard !rows.isEmpty else { return }
    lines.append("")
    lines.append("Resources:")
    for (name, value) in rows {
      lines.append("  " + name + String(repeating: " ", count: max(1, 13 - name.count)) + value)
    }
  }

  /// Bytes in the largest unit that leaves at least one, with a digit behind the point where that
  /// is less than ten.
  static func size(_ bytes: UInt64) -> String {
    var unit = 0
    while unit < 4, bytes >> (10 * UInt64(unit + 1)) > 0 { unit += 1 }
    guard unit > 0 else { return "\(bytes) bytes" }
    let name = ["KiB", "MiB", "GiB", "TiB"][unit - 1]
    let shift = 10 * UInt64(unit)
    let whole = bytes >> shift
    let tenth = ((bytes >> (shift - 10)) & 1023) * 10 / 1024
    return whole < 10 && tenth > 0 ? "\(whole).\(tenth) \(name)" : "\(whole) \(name)"
  }
}
