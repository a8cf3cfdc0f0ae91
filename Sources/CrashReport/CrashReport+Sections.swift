extension CrashReport {
  /// What comes behind the threads, in order; each is left out where there is nothing to show.
  ///
  /// A new section is one more element, and shows up in the text and in the HTML.
  var sections: [ReportSection] {
    [evidenceSection, resourceSection, annotationSection].compactMap { $0 } + clientSections
  }

  /// What says that the cause is what the head says.
  private var evidenceSection: ReportSection? {
    ReportSection("Evidence", rows: (end?.evidence ?? cause?.evidence ?? []).map { .text($0) })
  }
}
