internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump

/// An overview as one HTML page that needs nothing else, neither a network nor scripts nor fonts.
///
/// Names come from dumps, which cannot be trusted. So each name is escaped, and the page forbids scripts and
/// requests.
struct OverviewPage {
  /// The maximum number of rows of each table; further rows are only counted.
  private static let rows = (signatures: 30, versions: 20, hosts: 20)

  private let overview: CrashOverview
  private let releases: [Int32: Timestamp]
  private let days: ClosedRange<Int32>
  private let since: Timestamp?
  private let now: Timestamp
  private let links: [ReportID: String]

  /// - Parameters:
  ///   - since: the beginning of the period, if the user asked for one.
  ///   - now: the time at which the page is made.
  ///   - links: for each report that has a page, the link to this page.
  static func text(
    of overview: CrashOverview, since: Timestamp?, now: Timestamp, links: [ReportID: String] = [:]
  ) -> String {
    let page = OverviewPage(
      overview: overview, releases: overview.releases, days: overview.shownDays(now: now),
      since: since, now: now, links: links)
    var html = HTMLWriter()
    html.addVerbatim("<!DOCTYPE html>\n")
    html.element("html", ["lang": "en"]) { html in
      html.element("head") { html in
        html.addPolicy()
        html.element("title", text: "Crashes")
        html.element("style") { html in
          html.addVerbatim(HTMLStyle.text)
          html.addVerbatim(OverviewStyle.text)
        }
      }
      html.breakLine()
      html.element("body") { html in page.addBody(to: &html) }
    }
    html.breakLine()
    return html.text
  }

  /// The newest report of each signature that the page shows; the page links to these reports.
  static func linkedReports(of overview: CrashOverview) -> [(id: ReportID, path: String)] {
    sorted(overview).prefix(rows.signatures).compactMap { entry in
      entry.value.lastReport.map { ($0, entry.value.lastPath) }
    }
  }

  private func addBody(to html: inout HTMLWriter) {
    html.element("header") { html in addHead(to: &html) }
    html.breakLine()
    html.element("main") { html in
      if overview.all.count == 0 {
        html.element("p", text: "No reports.")
        return
      }
      addDays(to: &html)
      addSignatures(to: &html)
      addVersions(to: &html)
      addHosts(to: &html)
    }
    html.breakLine()
    html.element("footer") { html in
      html.element(
        "p",
        text:
          "Written by postmortem at \(now.second) UTC. Days are in UTC. The same reports as "
          + "a table: postmortem export.")
    }
  }

  private func addHead(to html: inout HTMLWriter) {
    let all = overview.all
    let time =
      all.count == 0
      ? since.map { "since \($0.second) UTC" } ?? ""
      : "\(all.first.second) to \(all.last.second) UTC"
    html.element("p", ["class": "program"], text: time)
    let reports = overview.total == 1 ? "crash report" : "crash reports"
    html.element("h1", text: "\(Quantity.grouped(overview.total)) \(reports)")
    let programs = Set(overview.versions.keys.map(\.program)).count
    let newCount = overview.signatures.count { isNew($0.key, $0.value) }
    let signs = [
      ("signatures", overview.signatures.count), ("new in the newest version", newCount),
      ("hosts", overview.all.hosts.count), ("programs", programs),
      ("cannot be read", overview.unreadable), ("requests to quit", overview.quits),
    ]
    html.element("dl", ["class": "signs tiles"]) { html in
      for (name, count) in signs where count > 0 || name == "signatures" {
        html.element("div") { html in
          html.element("dt", text: name)
          html.element("dd", text: Quantity.grouped(count))
        }
      }
    }
  }

  private func addDays(to html: inout HTMLWriter) {
    html.element("section") { html in
      html.element("h2", text: "By day")
      html.element("p", ["class": "key"]) { html in
        for (kind, style, words) in OverviewChart.kinds {
          let count = overview.days[kind]?.values.reduce(0, +) ?? 0
          guard count > 0 else { continue }
          html.element("span", ["class": "swatch \(style)"], text: words.text(of: count))
        }
      }
      OverviewChart.addDays(overview, days, to: &html)
      let outside = overview.all.days.reduce(0) { $0 + (days.contains($1.key) ? 0 : $1.value) }
      if outside > 0 {
        html.element(
          "p", ["class": "faint"], text: "\(Quantity.grouped(outside)) reports are from other days."
        )
      }
    }
    html.breakLine()
  }

  private func addSignatures(to html: inout HTMLWriter) {
    addGroups(
      "By signature", Self.sorted(overview), "signatures", limit: Self.rows.signatures, to: &html
    ) { html, key, group in
      if let id = group.lastReport, let link = links[id] {
        html.element("a", ["class": "crash-title", "href": link], text: shortened(group.crash))
      } else {
        html.element("b", ["class": "crash-title"], text: shortened(group.crash))
      }
      if isNew(key, group) { html.element("b", ["class": "new"], text: "new") }
      if let place = group.place { html.element("p", text: "in " + shortened(place)) }
      html.element("p", ["class": "at"]) { html in
        html.element("code", text: shortened(overview.name(key.name)))
      }
      html.element("p", ["class": "at"], text: details(of: key, group))
    }
  }

  private func details(of key: CrashOverview.Subject, _ group: CrashOverview.Group) -> String {
    let versions = group.versions.map(overview.name).sorted()
    let shown = versions.prefix(4).map(shortened).joined(separator: ", ")
    let more = versions.count > 4 ? " and \(versions.count - 4) more" : ""
    let parts = [
      shortened(overview.name(key.program)), versions == [CrashOverview.noName] ? "" : shown + more,
      overview.all.hosts.count < 2 || group.hosts.isEmpty
        ? ""
        : "\(Quantity.grouped(group.hosts.count)) of \(Quantity.grouped(overview.all.hosts.count)) hosts",
      "first \(group.first.second.prefix(10))", "last \(group.last.second.prefix(10))",
      group.lastReport.map { "postmortem show \($0.description.prefix(8))" } ?? "",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: " \u{B7} ")
  }

  private func addVersions(to html: inout HTMLWriter) {
    let sorted = overview.versions.sorted {
      ($1.value.first, $0.key.name) < ($0.value.first, $1.key.name)
    }
    addGroups(
      "By version, newest first", sorted, "versions", limit: Self.rows.versions, to: &html
    ) { html, key, _ in
      let program = overview.name(key.program)
      let version = overview.name(key.name)
      html.element(
        "code",
        text: shortened(
          version == CrashOverview.noName ? "\(program), no version" : "\(program) \(version)"))
    }
  }

  private func addHosts(to html: inout HTMLWriter) {
    let sorted = overview.hosts.sorted {
      ($1.value.count, overview.name($0.key)) < ($0.value.count, overview.name($1.key))
    }
    addGroups("By host", sorted, "hosts", limit: Self.rows.hosts, to: &html) { html, key, _ in
      html.element("code", text: shortened(overview.name(key)))
    }
  }

  /// Adds a list of groups, each with its number of reports, its name, and a chart of its reports by day.
  ///
  /// - Parameters:
  ///   - what: the word for the groups, used in the line that counts the groups beyond the limit.
  ///   - addName: adds a group's name, between its number of reports and its chart.
  private func addGroups<Key>(
    _ title: String, _ groups: [(key: Key, value: CrashOverview.Group)], _ what: String, limit: Int,
    to html: inout HTMLWriter, addName: (inout HTMLWriter, Key, CrashOverview.Group) -> Void
  ) {
    let top = groups.prefix(limit).map(\.value.count).max() ?? 1
    html.element("section") { html in
      html.element("h2", text: title)
      html.element("ol", ["class": "groups"]) { html in
        for (key, group) in groups.prefix(limit) {
          html.element("li") { html in
            html.element("div", ["class": "count"]) { html in
              html.element("span", text: Quantity.grouped(group.count))
              // If no group has more than one report, all bars would have the same length, so none is drawn.
              if top > 1 { OverviewChart.addShare(group.count, of: top, to: &html) }
            }
            html.element("div", ["class": "name"]) { html in addName(&html, key, group) }
            OverviewChart.addSpark(group, days, to: &html)
          }
          html.breakLine()
        }
      }
      let rest = groups.dropFirst(limit)
      if !rest.isEmpty {
        let count = rest.reduce(0) { $0 + $1.value.count }
        html.element(
          "p", ["class": "faint"],
          text:
            "\(Quantity.grouped(rest.count)) more \(what) with \(Quantity.grouped(count)) reports.")
      }
    }
    html.breakLine()
  }

  private typealias Entry = (key: CrashOverview.Subject, value: CrashOverview.Group)

  /// The signatures, the one with the most reports first; signatures with the same count always have the same order.
  private static func sorted(_ overview: CrashOverview) -> [Entry] {
    overview.signatures.sorted { left, right in
      (right.value.count, overview.name(left.key.name), overview.name(left.key.program))
        < (left.value.count, overview.name(right.key.name), overview.name(right.key.program))
    }
  }

  /// True if the signature did not occur before the first crash of the program's newest version.
  private func isNew(_ key: CrashOverview.Subject, _ group: CrashOverview.Group) -> Bool {
    releases[key.program].map { group.first >= $0 } ?? false
  }

  /// Shortens a name, because a name in a dump can be long, and the page contains many names.
  private func shortened(_ name: String) -> String {
    name.count > 240 ? name.prefix(239) + "\u{2026}" : name
  }
}
