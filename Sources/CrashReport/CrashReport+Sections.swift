extension CrashReport {
  /// What comes behind the threads, in order; each is left out where there is nothing to show.
  ///
  /// A new section is one more element, and shows up in the text and in the HTML.
  var sections: [ReportSection] {
    [evidenceSection, resourceSection, annotationSection].compactMap { $0 }
  }

  /// What says that the cause is what the head says.
  private var evidenceSection: ReportSection? {
    ReportSection("Evidence", rows: (cause?.evidence ?? []).map { .text($0) })
  }

  private var annotationSection: ReportSection? {
    let sorted = annotations.sorted { $0.key < $1.key }
    return ReportSection(
      "Annotations", rows: sorted.map { .assignment(name: $0.key, value: $0.value) })
  }
}
