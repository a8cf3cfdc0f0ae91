internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The subcommand `postmortem dashboard`.
enum DashboardCommand: Subcommand {
  static let name = "dashboard"
  static let summary = "draw the crashes of one or more databases as an HTML page"
  static let usage = ["[OPTION...] [-o FILE] [-d DIR]...", "[OPTION...] [-o FILE] DIR/..."]
  static let discussion = """
    Draws the crashes of one or more databases as one self-contained HTML page: by day, signature, version and host, \
    with charts. For each signature, the page shows the cause and location of its newest report.

    Gets the facts of reports as postmortem export does: from the file reports.index, to which it adds the missing \
    ones. With -o, it also writes the pages of the newest reports into a directory next to FILE, and links to them.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "a database; may be given more than once (default: as for postmortem list)"),
    .since, .until,
    CommandOption(
      "-o, --output", value: "FILE", completing: .file,
      "write the page to FILE, and replace it if it exists; write the pages of reports to FILE.reports/"
    ),
    CommandOption("--no-pages", "with -o, write only the page itself"),
    .quiet,
  ]
  static let operands = Operands(0...10_000, "DIR", completing: .directory)
  static let closing = """
    Exit status: 0; 1 if a report could not be read. The page leaves out such a report, but counts it.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let period = try arguments.period()
    var walk = ReportWalk(try arguments.databases(), in: period)
    var overview = CrashOverview()
    try walk.forEach { overview.add($0) }
    var links: [ReportID: String] = [:]
    if let path = arguments["--output"], !arguments.has("--no-pages") {
      links = try writePages(of: OverviewPage.linkedReports(of: overview), nextTo: path)
    }
    let page = OverviewPage.text(of: overview, since: period.since, now: .now, links: links)
    if let path = arguments["--output"] {
      try OutputFile.write(page, to: path)
      arguments.remark(
        "Wrote \(path.escapedForMessage): \(ReportTable.reports(overview.total))"
          + (links.isEmpty
            ? "." : ", with \(links.count) pages in \(path.escapedForMessage).reports/."))
    } else {
      try StandardOutput.print(page)
    }
    if walk.failureCount > 0 { throw ToolError.printed }
  }

  /// Writes one HTML page for each report, into a directory next to `page`.
  ///
  /// - Returns: the links to the pages, without those of reports that could not be read.
  private static func writePages(
    of reports: [(id: ReportID, path: String)], nextTo page: String
  ) throws -> [ReportID: String] {
    guard !reports.isEmpty else { return [:] }
    let directory = page + ".reports"
    guard unsafe mkdir(directory, 0o777) == 0 || errno == EEXIST else {
      throw ToolError(path: directory, ToolError.text(errno))
    }
    let progress = ProgressLine("writing pages:")
    defer { progress.clear() }
    var links: [ReportID: String] = [:]
    for (number, report) in reports.enumerated() {
      progress.update(number, of: reports.count)
      // A report that cannot be read, for example because it was deleted in the meantime, has no page.
      guard let file = try? CrashFile(at: report.path) else { continue }
      let shown = CrashReport(
        snapshot: file.snapshot, symbolicating: true, symbolStore: SymbolCacheDirectory())
      let name = "\(report.id).html"
      try OutputFile.write(HTMLReport.text(of: shown), to: directory + "/" + name)
      links[report.id] = relativeURL(directory.lastComponent + "/" + name)
    }
    return links
  }

  /// The relative link to a path, for a page in the same directory.
  ///
  /// The link begins with `./`, because a colon in the first segment of a path would be read as the end of a scheme.
  ///
  /// Source: RFC 3986, 4.2.
  private static func relativeURL(_ path: String) -> String {
    let allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/".utf8
    return path.utf8.reduce(into: "./") { url, byte in
      if allowed.contains(byte) {
        url.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        url += "%" + [byte].hexadecimal.uppercased()
      }
    }
  }
}
