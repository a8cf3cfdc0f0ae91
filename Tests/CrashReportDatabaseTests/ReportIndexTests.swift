import CrashTestSupport
import Glibc
import IntermediateDump
import Testing

@testable import CrashReportDatabase

/// The cache of facts: which facts it returns, and which records it rejects.
@Suite struct ReportIndexTests {
  private let directory: SharedDirectory
  private let database: CrashReportDatabase

  init() throws {
    directory = try SharedDirectory(inMemory: true)
    database = try CrashReportDatabase(path: directory.path)
  }

  private func addReport() throws -> StoredReport {
    let report = try database.prepareNewReport(ReportID())
    let id = report.id
    try report.finish()
    return try #require(try database.report(id))
  }

  private func index() throws -> ReportIndex { ReportIndex(in: try database.open()) }

  private static func facts(_ number: Int) -> ReportFacts {
    var facts = ReportFacts()
    facts.program = "Shop"
    facts.signal = SIGILL
    facts.signature = "SIGILL | f\(number)"
    facts.place = "Basket.firstItem(of:) at main.swift:\(number)"
    facts.message = number.isMultiple(of: 2) ? "" : nil
    facts.time = Timestamp(nanoseconds: Int64(number) * 1_000_000_007)
    facts.isNamed = number.isMultiple(of: 3)
    return facts
  }

  /// Adds reports and their facts.
  private func addReports(_ count: Int) throws -> [StoredReport] {
    let reports = try (0..<count).map { _ in try addReport() }
    for (number, report) in reports.enumerated() {
      ReportIndex.append(
        [(ReportIndex.Key(of: report), Self.facts(number))], in: try database.open())
    }
    return reports
  }

  @Test func givesBackWhatWasAppended() throws {
    let reports = try addReports(10)
    let index = try index()
    #expect(reports.map { index.facts(of: $0) } == (0..<10).map(Self.facts))
    #expect(!index.isWorn(reports: 10))
    #expect(try directory.permissions(ReportIndex.fileName) == 0o600)
    #expect(index.facts(of: try addReport()) == nil)
  }

  @Test func theLastRecordOfAReportCounts() throws {
    let report = try addReports(1)[0]
    ReportIndex.append([(ReportIndex.Key(of: report), Self.facts(7))], in: try database.open())
    #expect(try index().facts(of: report) == Self.facts(7))
  }

  /// More records than one read returns, with sizes that split records between reads at any position.
  @Test func recordsLieAcrossReads() throws {
    let report = try addReport()
    let keys = (0..<900).map { _ in ReportIndex.Key(ReportID(), status: Self.status(of: report)) }
    let facts = keys.indices.map { number in
      var facts = Self.facts(number)
      facts.message = String(repeating: "m", count: number)
      facts.place = String(repeating: "p", count: number)
      return facts
    }
    ReportIndex.append(Array(zip(keys, facts)), in: try database.open())
    #expect(try #require(directory.bytes(ReportIndex.fileName)).count > 2 * 256 << 10)
    let index = try index()
    #expect(!index.isWorn(reports: 900))
    #expect(keys.map { index.facts(of: $0) } == facts)
  }

  private static func status(of report: StoredReport) -> FileStatus {
    var status = stat()
    _ = unsafe stat(report.path, &status)
    return FileStatus(status)
  }

  @Test func detailsAreLeftOutWhereNobodyWantsThem() throws {
    let report = try addReport()
    var facts = Self.facts(4)
    facts.details = ReportDetails()
    ReportIndex.append([(ReportIndex.Key(of: report), facts)], in: try database.open())
    let index = try index()
    #expect(index.facts(of: report) == facts)
    #expect(index.facts(of: report, withDetails: false) == Self.facts(4))
  }

  @Test func aLongTextIsCut() throws {
    let report = try addReport()
    var facts = Self.facts(1)
    facts.message = String(repeating: "é", count: 100_000)
    facts.cause = String(repeating: "€", count: 1000)
    facts.place = "after"
    ReportIndex.append([(ReportIndex.Key(of: report), facts)], in: try database.open())
    let found = try #require(try index().facts(of: report))
    #expect(found.message?.utf8.count == 1 << 10 && found.place == "after")
    #expect(found.cause == String(repeating: "€", count: 341))
  }

  /// The index must not use its record of another minidump with the same ID.
  @Test func aMinidumpThatChangedIsNotBelieved() throws {
    let report = try addReports(1)[0]
    try directory.put([1, 2, 3], "pending/\(report.id).dmp")
    let changed = try #require(try database.report(report.id))
    #expect(try index().facts(of: changed) == nil)
  }

  /// Changes each byte of the second of three records, or truncates the file there.
  @Test func damageDoesNotCountAndIsSaid() throws {
    let reports = try addReports(3)
    let whole = try #require(directory.bytes(ReportIndex.fileName))
    let first = whole.count / 3
    for position in [0, 4, 5, 8, 16, 40, 70] {
      for isCut in [true, false] {
        var bytes = whole
        if isCut {
          bytes.removeSubrange((first + position)...)
        } else {
          bytes[first + position] ^= 0x41
        }
        try directory.put(bytes, ReportIndex.fileName)
        let index = try index()
        #expect(index.facts(of: reports[0]) == Self.facts(0), "\(position) \(isCut)")
        #expect(index.facts(of: reports[1]) == nil, "\(position) \(isCut)")
        // After a damaged head, the start of the next record is not known.
        let isFollowed = !isCut && position >= 8
        #expect(
          index.facts(of: reports[2]) == (isFollowed ? Self.facts(2) : nil), "\(position) \(isCut)")
        let isEnd = isCut && position == 0
        #expect(index.isWorn(reports: 3) == (!isFollowed && !isEnd), "\(position) \(isCut)")
      }
    }
  }

  @Test func rewritingLeavesNoOtherRecords() throws {
    let reports = try addReports(4)
    let whole = try #require(directory.bytes(ReportIndex.fileName))
    try directory.put(whole + [0xFF], ReportIndex.fileName)
    #expect(try index().isWorn(reports: 4))
    ReportIndex.rewrite(
      [(ReportIndex.Key(of: reports[2]), Self.facts(2))], in: try database.open())
    let index = try index()
    #expect(reports.map { index.facts(of: $0) } == [nil, nil, Self.facts(2), nil])
    #expect(!index.isWorn(reports: 1))
    #expect(directory.names("new") == [])
  }

  @Test func recordsOfReportsThatAreGoneWearIt() throws {
    let report = try addReport()
    let key = ReportIndex.Key(of: report)
    ReportIndex.append(
      (0..<1003).map { (key, Self.facts($0)) }, in: try database.open())
    let index = try index()
    #expect(index.isWorn(reports: 1) && !index.isWorn(reports: 2))
    #expect(index.facts(of: report) == Self.facts(1002))
  }

  @Test func aFileThatIsNoneOfOursIsNotFollowed() throws {
    let report = try addReport()
    let target = directory.path + "/target"
    try directory.put([], "target")
    #expect(unsafe symlink(target, directory.path + "/" + ReportIndex.fileName) == 0)
    ReportIndex.append([(ReportIndex.Key(of: report), Self.facts(1))], in: try database.open())
    #expect(directory.bytes("target") == [])
    #expect(try index().facts(of: report) == nil && index().isWorn(reports: 1))
  }
}
