import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PostmortemTool

/// `postmortem dashboard`: its counts, and how it handles hostile names.
@Suite struct OverviewPageTests {
  private static let hostile = "\"><script>alert(1)</script><img src=x onerror='x'>\u{202E}&amp;"

  private static func report(
    day: Int64, program: String? = "shop", version: String? = "1.0",
    signature: String? = "SIGILL | f",
    host: String? = "a", kind: ReportDetails.Kind = .crash
  ) throws -> ExportedReport {
    var facts = ReportFacts()
    facts.time = Timestamp(seconds: day * 86_400 + 5)
    (facts.program, facts.version, facts.signature) = (program, version, signature)
    var details = ReportDetails()
    details[text: .hostName] = host
    details.kind = kind
    facts.details = details
    return ExportedReport(
      id: ReportID(), state: .pending, modificationTime: day * 86_400_000_000_000, facts)
  }

  private static func page(_ overview: CrashOverview, day: Int64 = 20_000) -> String {
    OverviewPage.text(of: overview, since: nil, now: Timestamp(seconds: day * 86_400))
  }

  @Test func countsByDaySignatureVersionAndHost() throws {
    var overview = CrashOverview()
    for day in 19_990...19_999 as ClosedRange<Int64> {
      overview.add(try Self.report(day: day, host: day.isMultiple(of: 2) ? "a" : "b"))
    }
    overview.add(
      try Self.report(day: 19_999, version: "2.0", signature: "SIGSEGV | g", kind: .hang))
    #expect(overview.total == 11 && overview.unreadable == 0)
    #expect(overview.days[.crash]?.count == 10 && overview.days[.hang] == [19_999: 1])
    #expect(overview.signatures.values.map(\.count).sorted() == [1, 10])
    #expect(overview.versions.values.map(\.count).sorted() == [1, 10])
    #expect(overview.hosts.values.map(\.count).sorted() == [5, 6])
    let now = Timestamp(seconds: 20_000 * 86_400)
    #expect(overview.shownDays(now: now) == 19_986...19_999)
    let page = Self.page(overview)
    #expect(page.contains("<h1>11 crash reports</h1>"))
    #expect(page.contains("2024-10-03: 1 crash, 1 hang<"))
    #expect(page.contains(">10 crashes<") && page.contains(">1 hang<"))
    #expect(page.contains("shop 2.0") && page.contains("shop 1.0"))
    // The signature that first occurred in the newest version.
    #expect(page.matches(of: /class="new"/).count == 1)
    #expect(page.contains("<dt>new in the newest version</dt><dd>1</dd>"))
  }

  @Test func aRequestToQuitIsInNoOtherNumber() throws {
    var overview = CrashOverview()
    overview.add(try Self.report(day: 19_999))
    overview.add(
      try Self.report(day: 19_999, version: "2.0", signature: "SIGQUIT | g", host: "b", kind: .quit)
    )
    #expect(overview.total == 1 && overview.quits == 1 && overview.all.count == 1)
    #expect(overview.signatures.count == 1 && overview.versions.count == 1)
    #expect(overview.hosts.count == 1 && overview.days == [.crash: [19_999: 1]])
    #expect(Self.page(overview).contains("<dt>requests to quit</dt><dd>1</dd>"))
  }

  /// The report of a run without a dump has no host name, so it does not count as a host.
  @Test func anUnknownHostIsNotCounted() throws {
    var overview = CrashOverview()
    overview.add(try Self.report(day: 19_999))
    overview.add(try Self.report(day: 19_999, host: nil, kind: .end))
    let page = Self.page(overview)
    #expect(page.contains("<dt>hosts</dt><dd>1</dd>"))
    #expect(!page.contains("of 2 hosts"))
    overview.add(try Self.report(day: 19_999, host: "b"))
    #expect(Self.page(overview).contains("2 of 2 hosts"))
  }

  /// One report has a clock that is ahead, another one is from 1971.
  @Test func clocksThatAreWrongDoNotStretchTheChart() throws {
    var overview = CrashOverview()
    for day in [400, 19_999, 80_000] as [Int64] { overview.add(try Self.report(day: day)) }
    let now = Timestamp(seconds: 20_000 * 86_400)
    #expect(overview.shownDays(now: now) == 19_910...19_999)
    #expect(Self.page(overview).contains("2 reports are from other days."))
    var late = CrashOverview()
    late.add(try Self.report(day: 100_000))
    #expect(late.shownDays(now: now).upperBound == 20_001)
    #expect(!Self.page(late).isEmpty)
  }

  @Test func hostileNamesAreEscaped() throws {
    var overview = CrashOverview()
    let long = Self.hostile + String(repeating: "<b>", count: 10_000)
    for name in [Self.hostile, long, "\u{0}\u{1B}[31m", ""] {
      overview.add(
        try Self.report(day: 19_999, program: name, version: name, signature: name, host: name))
    }
    let page = Self.page(overview)
    #expect(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"))
    #expect(page.contains("&lt;script&gt;") && !page.contains("\u{202E}"))
    #expect(!page.contains("\u{1B}") && !page.contains("\u{0}"))
    #expect(page.utf8.count < 100_000)
    // The page loads nothing and runs no scripts.
    #expect(page.contains("default-src 'none'".replacing("'", with: "&#39;")))
    #expect(!page.contains("http://") && !page.contains("https://"))
    #expect(!page.contains(" src=") || page.contains("&lt;img src=x"))
  }

  @Test func aPageOfManyNamesIsShort() throws {
    var overview = CrashOverview()
    for number in 0..<5000 {
      overview.add(
        try Self.report(
          day: 19_900 + Int64(number % 100), program: "p\(number)", version: "v\(number)",
          signature: "s\(number)", host: "h\(number)"))
    }
    let page = Self.page(overview)
    #expect(page.utf8.count < 500_000)
    #expect(page.contains("4,970 more signatures with 4,970 reports."))
    #expect(page.contains("4,980 more hosts") && page.contains("4,980 more versions"))
  }

  @Test func anEmptyOneSaysSo() {
    #expect(Self.page(CrashOverview()).contains("No reports."))
  }

  @Test func theCommandDrawsSeveralDatabases() async throws {
    let directory = try SharedDirectory()
    let tool = try BuiltProducts.besideTests("postmortem")
    for database in ["one", "two"] {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        [directory.path + "/" + database, "abort"], in: directory.path)
      try #require(child.end.signal == SIGABRT)
      _ = try await ChildProcess.run(tool, ["process", "./" + database], in: directory.path)
    }
    func run(_ words: String...) async throws -> ChildProcess {
      try await ChildProcess.run(tool, ["dashboard"] + words, in: directory.path)
    }
    let page = try await run("./one", "./two").standardOutput
    #expect(page.contains("<h1>2 crash reports</h1>") && page.contains("SIGABRT | "))
    #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
    #expect(try await run("./one", "-o", "page.html").standardOutput == "")
    let written = String(decoding: directory.bytes("page.html") ?? [], as: UTF8.self)
    #expect(written.contains("<h1>1 crash report</h1>"))
    let none = try await run("./one", "--since", "2200-01-01").standardOutput
    #expect(none.contains("No reports."))
    #expect(try await run("./one", "--json").end.exitCode == 64)
    let report = try #require(directory.names("two/pending").first { $0.hasSuffix(".dmp") })
    try directory.put([1], "two/pending/" + report)
    let broken = try await run("./one", "./two")
    #expect(broken.end.exitCode == 1)
    #expect(broken.standardOutput.contains("<dt>cannot be read</dt><dd>1</dd>"))
  }
}
