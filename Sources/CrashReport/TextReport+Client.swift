/// What the program told: annotations, breadcrumbs, attachments, extra memory.
extension TextReport {
  mutating func addAnnotations() {
    let marks = marks()
    let unreadable = (report.client?.annotations ?? []).filter { $0.value == nil }
    guard !report.annotations.isEmpty || !unreadable.isEmpty else { return }
    lines.append("")
    lines.append("Annotations:")
    for (name, value) in report.annotations.sorted(by: { $0.key < $1.key }) {
      let mark = marks[Pair(name: name, value: value)] ?? ""
      lines.append("  \(name.escapedForTerminal()) = \(value.escapedForTerminal())\(mark)")
    }
    for annotation in unreadable {
      lines.append("  \((annotation.name ?? "?").escapedForTerminal()): could not be read")
    }
  }

  private struct Pair: Hashable {
    let name: String
    let value: String
  }

  /// What is to be said of values that are not simply the last ones.
  private func marks() -> [Pair: String] {
    var marks: [Pair: String] = [:]
    for annotation in report.client?.annotations ?? [] {
      guard let name = annotation.name, let value = annotation.value else { continue }
      switch annotation.state {
      case "being-replaced":
        marks[Pair(name: name, value: value)] = "  (a newer value was being written)"
      case "stale":
        marks[Pair(name: name, value: value)] = "  (a newer value was lost)"
      default: continue
      }
    }
    return marks
  }

  mutating func addClient() {
    guard let client = report.client else { return }
    addBreadcrumbs(client)
    addAttachments(client)
    addExtraMemory(client)
    var notes = client.userStreamFailures.map { "Stream not added: \($0)" }
    for (count, what) in [
      (client.annotationsOmitted, "annotations"),
      (client.simpleAnnotationsOmitted, "simple annotations"),
      (client.memoryRangesOmitted, "memory ranges"),
      (client.attachmentsOmitted, "attachments"),
    ] {
      if let count, count > 0 { notes.append("No room for more \(what), \(count) times.") }
    }
    guard !notes.isEmpty else { return }
    lines.append("")
    lines += notes.map { $0.escapedForTerminal() }
  }

  private mutating func addBreadcrumbs(_ client: CrashReport.Client) {
    let left = client.breadcrumbsLeft ?? UInt64(client.breadcrumbs.count)
    guard left > 0 else { return }
    let torn = client.breadcrumbsOmitted.flatMap { $0 > 0 ? ", \($0) torn" : nil } ?? ""
    lines.append("")
    lines.append("Breadcrumbs (last \(client.breadcrumbs.count) of \(left)\(torn)):")
    for breadcrumb in client.breadcrumbs {
      let age = breadcrumb.age.map { "\(Self.duration(Int64(clamping: $0))) before" }
      let time = breadcrumb.time?.readable
      let thread = breadcrumb.threadID.map { "thread \($0)" }
      let head = [time, age, thread].compactMap { $0 }.joined(separator: ", ")
      lines.append("  \(head): \(breadcrumb.text.escapedForTerminal())")
    }
  }

  private mutating func addAttachments(_ client: CrashReport.Client) {
    guard !client.attachments.isEmpty else { return }
    lines.append("")
    lines.append("Attachments:")
    for attachment in client.attachments {
      let path = attachment.path.escapedForTerminal()
      guard let name = attachment.name, let size = attachment.size else {
        let reason = attachment.failure?.escapedForTerminal() ?? "not copied yet"
        lines.append("  \(path): \(reason)")
        continue
      }
      let rest = attachment.bytesOmitted.flatMap { $0 > 0 ? ", without the first \($0)" : nil }
      lines.append("  \(name.escapedForTerminal()), \(size) bytes\(rest ?? ""), of \(path)")
    }
  }

  private mutating func addExtraMemory(_ client: CrashReport.Client) {
    guard !client.extraMemory.isEmpty || client.memoryBytesOmitted != nil else { return }
    lines.append("")
    lines.append("Extra memory:")
    for range in client.extraMemory {
      let note = range.captured ? "" : ", not all captured"
      lines.append("  \(range.address.padded), \(range.size) bytes\(note)")
    }
    if let bytes = client.memoryBytesOmitted, bytes > 0 {
      lines.append("  \(bytes) more bytes left out")
    }
  }
}
