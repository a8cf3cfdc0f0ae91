extension CrashReport {
  /// What comes behind the threads, in order; each is left out where there is nothing to show.
  ///
  /// A new section is one more element, and shows up in the text and in the HTML.
  var sections: [ReportSection] {
    [resourceSection, annotationSection].compactMap { $0 }
  }

  private var annotationSection: ReportSection? {
    let sorted = annotations.sorted { $0.key < $1.key }
    return ReportSection(
      "Annotations", rows: sorted.map { .assignment(name: $0.key, value: $0.value) })
  }
}
