/// What the program told: annotations, breadcrumbs, attachments, extra memory.
extension CrashReport {
  var annotationSection: ReportSection? {
    let marks = annotationMarks
    var rows = annotations.sorted { $0.key < $1.key }.map { name, value in
      let mark = marks[AnnotationPair(name: name, value: value)] ?? ""
      return ReportSection.Row.assignment(name: name, value: value + mark)
    }
    for annotation in client?.annotations ?? [] where annotation.value == nil {
      rows.append(.text("\(annotation.name ?? "?"): could not be read"))
    }
    return ReportSection("Annotations", rows: rows)
  }

  private struct AnnotationPair: Hashable {
    let name: String
    let value: String
  }

  /// What is to be said of values that are not simply the last ones.
  private var annotationMarks: [AnnotationPair: String] {
    var marks: [AnnotationPair: String] = [:]
    for annotation in client?.annotations ?? [] {
      guard let name = annotation.name, let value = annotation.value else { continue }
      let pair = AnnotationPair(name: name, value: value)
      switch annotation.state {
      case "being-replaced": marks[pair] = "  (a newer value was being written)"
      case "stale": marks[pair] = "  (a newer value was lost)"
      default: continue
      }
    }
    return marks
  }

  /// Empty where the program told nothing.
  var clientSections: [ReportSection] {
    guard let client else { return [] }
    return [
      client.breadcrumbSection,
      ReportSection("Attachments", rows: client.attachments.map { .text($0.words) }),
      client.extraMemorySection,
      ReportSection("Left out of what the program told", rows: client.omissions.map { .text($0) }),
    ].compactMap { $0 }
  }
}

extension CrashReport.Client {
  fileprivate var breadcrumbSection: ReportSection? {
    let left = breadcrumbsLeft ?? UInt64(breadcrumbs.count)
    guard left > 0 else { return nil }
    let torn = breadcrumbsOmitted.flatMap { $0 > 0 ? ", \($0) torn" : nil } ?? ""
    let rows = breadcrumbs.map { breadcrumb in
      let age = breadcrumb.age.map { "\(TextReport.duration(Int64(clamping: $0))) before" }
      let thread = breadcrumb.threadID.map { "thread \($0)" }
      let head = [breadcrumb.time?.readable, age, thread].compactMap { $0 }.joined(separator: ", ")
      return ReportSection.Row.text("\(head): \(breadcrumb.text)")
    }
    return ReportSection(
      "Breadcrumbs (last \(breadcrumbs.count) of \(left)\(torn))",
      rows: rows.isEmpty ? [.text("none is whole")] : rows)
  }

  fileprivate var extraMemorySection: ReportSection? {
    var rows = extraMemory.map { range in
      let note = range.captured ? "" : ", not all captured"
      return ReportSection.Row.text("\(range.address.padded), \(range.size) bytes\(note)")
    }
    if let bytes = memoryBytesOmitted, bytes > 0 {
      rows.append(.text("\(bytes) more bytes left out"))
    }
    return ReportSection("Extra memory", rows: rows)
  }

  /// What found no room or could not be added, a sentence each.
  fileprivate var omissions: [String] {
    let counts = [
      (annotationsOmitted, "annotations"), (simpleAnnotationsOmitted, "simple annotations"),
      (memoryRangesOmitted, "memory ranges"), (attachmentsOmitted, "attachments"),
    ]
    return userStreamFailures.map { "Stream not added: \($0)" }
      + counts.compactMap { count, what in
        count.flatMap { $0 > 0 ? "No room for more \(what), \($0) times." : nil }
      }
  }
}

extension CrashReport.Client.Attachment {
  fileprivate var words: String {
    guard let name, let size else { return "\(path): \(failure ?? "not copied yet")" }
    let rest = bytesOmitted.flatMap { $0 > 0 ? ", without the first \($0)" : nil } ?? ""
    return "\(name), \(size) bytes\(rest), of \(path)"
  }
}
