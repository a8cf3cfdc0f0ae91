extension CrashReport {
  /// What comes behind the threads, in order; each is left out where there is nothing to show.
  ///
  /// A new section is one more element, and shows up in the text and in the HTML.
  var sections: [ReportSection] {
    [endSection, resourceSection, annotationSection].compactMap { $0 } + clientSections
  }
}
