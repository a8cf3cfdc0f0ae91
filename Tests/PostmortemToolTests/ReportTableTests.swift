import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PostmortemTool

/// The table that `list` draws on a terminal.
@Suite struct ReportTableTests {
  private static let now = Timestamp(seconds: 1_700_000_000)

  /// A report from a number of seconds ago.
  private static func report(
    ago seconds: Int64, in database: CrashReportDatabase, _ change: (inout ReportFacts) -> Void
  ) throws -> ListedReport {
    let new = try database.prepareNewReport(ReportID())
    let id = new.id
    try new.finish()
    var facts = ReportFacts()
    facts.time = Timestamp(seconds: now.seconds - seconds)
    facts.program = "shop"
    facts.version = "1.2"
    facts.signal = SIGILL
    change(&facts)
    return ListedReport(stored: try #require(try database.report(id)), facts: facts)
  }

  private static func reports(in directory: SharedDirectory) throws -> [ListedReport] {
    let database = try CrashReportDatabase(path: directory.path)
    return [
      try report(ago: 90, in: database) {
        $0.cause = "swift-index-out-of-range"
        $0.message = "Swift/ContiguousArrayBuffer.swift:692: Fatal error: Index out of range"
        $0.place = "shop.Cart.total(of:with:) at Sources/Cart.swift:21"
      },
      try report(ago: 7200, in: database) {
        $0.signal = SIGSEGV
        $0.cause = "null-dereference"
        $0.place = "shop.checkOut(_:) at Checkout.swift:7"
      },
      try report(ago: 100_000, in: database) {
        ($0.signal, $0.end, $0.cause) = (nil, "out-of-memory", "out-of-memory")
      },
      try report(ago: 4_000_000, in: database) {
        ($0.signal, $0.signature) = (nil, "hang | shop.wait()")
        $0.program = "a-worker-with-a-very-long-name"
      },
    ]
  }

  private static func table(_ width: Int, color: Bool = false) -> ReportTable {
    ReportTable(width: width, usesColor: color, now: now)
  }

  @Test(arguments: [60, 80, 200])
  func aReportIsOneLineOfTheTerminal(width: Int) throws {
    let reports = try Self.reports(in: SharedDirectory(inMemory: true))
    let lines = Self.table(width).text(of: reports.map { ListRow($0) }).split(separator: "\n")
    #expect(lines.count == 5)
    for line in lines { #expect(line.count <= width, "\(line)") }
    let ids = ReportTable.shortIDs(of: reports.map(\.stored.id.description))
    #expect(zip(lines.dropFirst(), ids).allSatisfy { $0.hasPrefix($1 + "  ") })
    #expect(lines[0].hasPrefix("ID        WHEN"))
    // The cause and the place are shown, whatever is shortened.
    #expect(lines[1].contains("1 min ago") && lines[1].contains("Index out"))
    #expect(lines[1].contains("Sources/") && lines[2].contains("Checkout."))
    guard width == 200 else { return }
    #expect(lines[1].contains("shop 1.2  "))
    #expect(lines[1].hasSuffix("Sources/Cart.swift:21 shop.Cart.total(of:with:)"))
    #expect(lines[2].contains("2 h ago") && lines[2].contains("SIGSEGV null dereference  "))
    #expect(lines[3].contains("1 day ago") && lines[3].contains("ended: out of memory  "))
    #expect(lines[4].contains("2023-09-29, old") && lines[4].contains("  hang  "))
  }

  @Test func anEndThatNothingExplainsSaysWhatItMostLikelyIs() {
    var facts = ReportFacts()
    facts.end = "unexplained"
    #expect(CrashLine.text(of: facts) == "ended: likely SIGKILL")
  }

  @Test func colorChangesNoLetter() throws {
    let reports = try Self.reports(in: SharedDirectory(inMemory: true))
    let plain = Self.table(80).text(of: reports.map { ListRow($0) })
    let colored = Self.table(80, color: true).text(of: reports.map { ListRow($0) })
    #expect(colored.contains("\u{1B}[31mIndex out of "))
    #expect(colored.replacing(/\u{1B}\[[0-9]*m/, with: "") == plain)
  }

  @Test func theLastLineCounts() throws {
    let directory = try SharedDirectory(inMemory: true)
    let reports = try Self.reports(in: directory)
    func count(_ reports: some Sequence<ListedReport>, of total: Int) -> String {
      Self.table(80).count(
        of: reports.map { ListRow($0) }, total: total, DatabaseRest(of: directory.path))
    }
    #expect(count(reports, of: 4) == "4 reports")
    #expect(count(reports.prefix(1), of: 4) == "1 of 4 reports")
    #expect(count([], of: 4) == "No reports match; there are 4")
    #expect(count([], of: 0) == "No reports")
    for name in ["pending-serialized-dumps", "quarantine"] {
      try FileManager.default.createDirectory(
        atPath: directory.path + "/" + name, withIntermediateDirectories: true)
      try directory.put([1], "\(name)/web@00112233-4455-4677-8899-aabbccddeeff")
    }
    #expect(
      count(reports, of: 4) == "4 reports, 1 dump waits to be processed: postmortem process "
        + "\(directory.path), 1 in quarantine (\(directory.path)/quarantine)")
  }

  @Test func shortIDsAreNeverTheSame() {
    let ids = ["00112233-4455", "00112233-4466", "ffeeddcc-0000"]
    #expect(ReportTable.shortIDs(of: ids) == ["00112233-445", "00112233-446", "ffeeddcc-000"])
    #expect(ReportTable.shortIDs(of: ["00112233-4455"]) == ["00112233"])
    #expect(ReportTable.shortIDs(of: []) == [])
  }

  @Test(arguments: [
    (0, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (3600, "1 h ago"), (86_400, "1 day ago"),
    (172_800, "2 days ago"), (30 * 86_400, "30 days ago"), (31 * 86_400, "2023-10-14"),
    (-30, "0 s ago"), (-3600, "2023-11-14 23:13"),
  ])
  func ages(seconds: Int64, text: String) {
    #expect(Self.table(80).age(of: Timestamp(seconds: Self.now.seconds - seconds)) == text)
  }
}
