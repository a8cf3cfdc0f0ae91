internal import CrashAnalysis
internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// The sections with data that the program provided, which come before the threads; in a report about waits, the waits
  /// and the tasks come first.
  ///
  /// To add a section to the text and the page, add one element here.
  ///
  /// - Parameter isFull: false to show only the last breadcrumbs and the oldest units of work, and to cut long values.
  func programSections(isFull: Bool) -> [ReportSection] {
    let waits = isAboutWaits ? [waitSection, taskSection(isFull: isFull)] : []
    return
      (waits + [
        inFlightSection(isFull: isFull), annotationSection(isFull: isFull), workBreadcrumbSection,
        breadcrumbSection(isFull: isFull),
      ]).compactMap { $0 }
  }

  /// The sections after the threads and the registers, in order; a section without rows is left out.
  ///
  /// - Parameter isFull: true to include evidence that the head already shows.
  func sections(isFull: Bool) -> [ReportSection] {
    let waits = isAboutWaits ? [] : [waitSection, taskSection(isFull: isFull)]
    return
      ([stackObjectSection(isFull: isFull)] + waits + [
        evidenceSection(isFull: isFull),
        resourceSection, attachmentSection, extraMemorySection, omissionSection,
      ]).compactMap { $0 }
  }

  private func evidenceSection(isFull: Bool) -> ReportSection? {
    let facts = (verdict.cause?.evidence ?? []).filter { isFull || !$0.isInHead }
    let evidence =
      snapshot.end?.evidence ?? facts.map(\.text) + (snapshot.request?.end?.evidence ?? [])
    return ReportSection("Evidence", rows: evidence.map { .text($0) })
  }

  private var resourceSection: ReportSection? {
    let resources = Resources(snapshot)
    var rows: [ReportSection.Row] = []
    func add(_ name: String, _ value: String?) {
      if let value { rows.append(.field(ReportField(name: name, value: value))) }
    }
    func add(_ name: String, _ usage: Resources.Usage, text: (UInt64) -> String) {
      guard let used = usage.used.map(text) ?? usage.limit.map({ _ in "unknown" }) else { return }
      add(name, used + (usage.limit.map { " of " + text($0) } ?? ""))
    }
    add("Open files", resources.openFiles) { String($0) }
    add("Descriptors", descriptorCounts)
    add("Mappings", resources.mappings) { String($0) }
    add("Threads", resources.threads.used.map { String($0) })
    add("Memory", memoryText)
    add("Group memory", resources.cgroupMemory, text: Quantity.size)
    add("Group tasks", resources.cgroupTasks) { String($0) }
    add("Stack limit", resources.stackLimit.map(Quantity.size))
    add("Memory limit", resources.addressSpace.limit.map { Quantity.size($0) + " of addresses" })
    for field in ProcessDescription.mapFields.labeledFacts(of: snapshot.process, in: .resources) {
      rows.append(.field(field))
    }
    add("Load", resources.loadAverage?.map { String($0) }.joined(separator: " "))
    return ReportSection("Resources", rows: rows)
  }

  /// The memory of the process and its peak, such as "19 MiB, at most 25 MiB".
  private var memoryText: String? {
    let peak = snapshot.process.peakResidentMemory.map { "at most \(Quantity.size($0))" }
    return Self.list([snapshot.process.residentMemory.map(Quantity.size), peak])
  }

  /// The maximum number of characters of an annotation's value in a short report.
  private static let shortValue = 300
  /// The maximum number of breadcrumbs in a short report.
  private static let fewBreadcrumbs = 10

  private func annotationSection(isFull: Bool) -> ReportSection? {
    let counting = snapshot.countingAnnotations.sorted { $0.key < $1.key }
    let unreadable = (snapshot.client.annotations + snapshot.client.simpleAnnotations)
      .filter { $0.value == nil }
    return ReportSection(
      "Annotations",
      rows: counting.map { name, annotation in
        .assignment(
          ReportField(
            name: name,
            value: Self.shown(annotation.text ?? "", isFull: isFull) + annotation.note))
      } + unreadable.map { .text("\($0.name ?? "?"): could not be read") })
  }

  private static func shown(_ value: String, isFull: Bool) -> String {
    let rest = isFull ? 0 : value.count - shortValue
    return rest <= 0 ? value : "\(value.prefix(shortValue))... (\(rest) more characters: --full)"
  }

  /// The breadcrumbs of the work that the crashing thread was doing; nil if they are the process's last breadcrumbs,
  /// which another section shows.
  private var workBreadcrumbSection: ReportSection? {
    let client = snapshot.client
    let breadcrumbs = client.workBreadcrumbs
    guard breadcrumbs != client.breadcrumbs.suffix(breadcrumbs.count) else { return nil }
    let verb =
      snapshot.request == nil && !snapshot.isQuitRequest ? "crashed" : "is shown first"
    return ReportSection("Breadcrumbs of what \(verb)", rows: breadcrumbs.map(row))
  }

  private func row(_ breadcrumb: ClientInformation.Breadcrumb) -> ReportSection.Row {
    let age = age(of: breadcrumb).map { "\(Quantity.duration(Int64(clamping: $0))) before" }
    // The time of the crash is in the head.
    let time = age == nil ? breadcrumb.time.map { Timestamp(nanoseconds: $0).readable } : nil
    let thread = breadcrumb.threadID.map { "thread \($0)" }
    let level = breadcrumb.level.map { "[\($0.word)] " } ?? ""
    let metadata = breadcrumb.metadata.pairs.map { " \($0.name)=\($0.value)" }.joined()
    return .text(
      "\(Self.list([time, age, thread]) ?? ""): \(level)\(breadcrumb.text)\(metadata)")
  }

  private func breadcrumbSection(isFull: Bool) -> ReportSection? {
    let client = snapshot.client
    // Those of the work of the crashing thread have a section of their own.
    let hasWork = workBreadcrumbSection != nil
    let others =
      hasWork
      ? client.breadcrumbs.filter { !client.workBreadcrumbs.contains($0) } : client.breadcrumbs
    let shown = isFull ? others[...] : others.suffix(Self.fewBreadcrumbs)
    let left = client.breadcrumbsLeft ?? UInt64(client.breadcrumbs.count)
    guard left > 0 else { return nil }
    let torn = client.breadcrumbsOmitted.nonzero.map { ", \($0) torn" } ?? ""
    let rows = shown.map(row)
    let more = others.count - shown.count
    let hint = more > 0 ? "; \(more) more in the dump: --full" : ""
    var section = ReportSection(
      "\(hasWork ? "Other breadcrumbs" : "Breadcrumbs") (last \(shown.count) of \(left)\(torn)\(hint))",
      rows: rows.isEmpty && !hasWork ? [.text("none is whole")] : rows)
    section?.foldedCount = max(0, rows.count - Self.fewBreadcrumbs)
    return section
  }

  private var attachmentSection: ReportSection? {
    ReportSection(
      "Attachments",
      rows: snapshot.client.attachments.map { attachment in
        guard let name = attachment.name, let size = attachment.size else {
          return .text("\(attachment.path): \(attachment.failure ?? "not copied yet")")
        }
        let rest = attachment.bytesOmitted.nonzero.map { ", without the first \($0)" } ?? ""
        return .text("\(name), \(size) bytes\(rest), of \(attachment.path)")
      })
  }

  private var extraMemorySection: ReportSection? {
    var rows = snapshot.client.extraMemory.map { range in
      let note = isCaptured(range) ? "" : ", not all captured"
      return ReportSection.Row.text("\(range.address.padded), \(range.size) bytes\(note)")
    }
    if let bytes = snapshot.client.memoryBytesOmitted.nonzero {
      rows.append(.text("\(bytes) more bytes left out"))
    }
    return ReportSection("Extra memory", rows: rows)
  }

  /// A section about data for which there was no room, or that could not be added.
  private var omissionSection: ReportSection? {
    let client = snapshot.client
    let counts = [
      (client.annotationsOmitted, "annotations"),
      (client.simpleAnnotationsOmitted, "simple annotations"),
      (client.memoryRangesOmitted, "memory ranges"), (client.attachmentsOmitted, "attachments"),
      (client.contextsOmitted, "contexts"),
    ]
    let omissions =
      client.userStreamFailures.map { "Stream not added: \($0)" }
      + counts.compactMap { count, what in
        count.nonzero.map { "No room for more \(what), \($0) times." }
      }
    return ReportSection(
      "Left out of the client data", rows: omissions.map { .text($0) })
  }
}

extension ClientAnnotation {
  /// A note for an annotation whose value in the dump may not be the last value that the program set.
  fileprivate var note: String {
    switch state {
    case .beingReplaced: "  (a newer value was being written)"
    case .stale: "  (a newer value was lost)"
    case .unreadable, nil: ""
    }
  }
}
