import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump

/// A database of any number of reports.
///
/// Their minidumps are hard links of a few real ones, but each report has different facts (time, host, version,
/// annotations, memory).
///
/// The facts of a report follow from its number, so the right answers to queries are known.
struct FleetDatabase {
  /// A real report.
  struct Body {
    let path: String
    let status: FileStatus
    let facts: ReportFacts
  }

  let path: String
  let bodies: [Body]
  let count: Int
  let hosts: Int

  static let versions = ["2.0.0", "2.1.0", "2.2.0"]
  static let programs = ["shop", "mailer"]
  static let tenants = ["acme", "globex", "initech"]
  /// The first day, 2026-06-01T00:00:00Z, and the number of days that the reports cover.
  static let start: Int64 = 1_780_272_000
  static let days: Int64 = 30

  /// - Parameters:
  ///   - real: a database of real reports, with their facts in its index.
  ///   - path: the path of the new database, on the same file system.
  init(of real: CrashReportDatabase, at path: String, count: Int, hosts: Int) throws {
    self.path = path
    self.count = count
    self.hosts = hosts
    let index = ReportIndex(in: try real.open())
    var bodies: [Body] = []
    try real.forEachReport { file in
      if let facts = index.facts(of: ReportIndex.Key(file.id, status: file.status)) {
        bodies.append(Body(path: file.path, status: file.status, facts: facts))
      }
      return true
    }
    guard bodies.count > 1 else { throw OutsideToolError("\(real.path) has no reports") }
    self.bodies = bodies.sorted { ($0.facts.signature ?? "") < ($1.facts.signature ?? "") }
  }

  func make() throws {
    let database = try CrashReportDatabase(path: path)
    _ = try database.clientID()
    let directory = try database.open()
    var batch: [(key: ReportIndex.Key, facts: ReportFacts)] = []
    for number in 0..<count {
      let id = Self.id(number)
      let body = bodies[body(number)]
      let stem = "\(path)/pending/\(id)"
      guard unsafe link(body.path, stem + ".dmp") == 0 else {
        throw SystemCallError("link \(body.path)", errno)
      }
      try Self.write(Self.metadata(at: time(number) / 1_000_000_000), to: stem + ".meta")
      batch.append((ReportIndex.Key(id, status: body.status), facts(number)))
      if batch.count == 1024 || number == count - 1 {
        ReportIndex.append(batch, in: directory)
        batch = []
      }
    }
  }

  private static func id(_ number: Int) -> ReportID {
    // Distributes the identifiers evenly, like random ones.
    let seed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: seed >> (56 - 8 * $0)) }
    let low = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(number) >> (56 - 8 * $0)) }
    return ReportID(bytes: bytes + low) ?? ReportID()
  }

  /// Source: Crashpad `client/crash_report_database_generic.cc`, `ReportMetadata`.
  private static func metadata(at seconds: Int64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Int32(1))
    bytes.append(littleEndian: Int32(0))
    bytes.append(littleEndian: Int64(0))
    bytes.append(littleEndian: seconds)
    bytes.append(littleEndian: Int64(0))
    return bytes
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    guard file >= 0 else { throw SystemCallError("open \(path)", errno) }
    defer { close(file) }
    guard unsafe Foundation.write(file, bytes, bytes.count) == bytes.count else {
      throw SystemCallError("write \(path)", errno)
    }
  }
}

extension FleetDatabase {
  /// Nanoseconds since 1970; the reports are spread evenly over the days, in whole microseconds.
  func time(_ number: Int) -> Int64 {
    let microseconds = Self.days * 86_400_000_000 * Int64(number) / Int64(count)
    return (Self.start * 1_000_000 + microseconds) * 1000
  }

  func version(_ number: Int) -> String { Self.versions[number * Self.versions.count / count] }
  func program(_ number: Int) -> String { Self.programs[number % 7 == 0 ? 1 : 0] }
  func host(_ number: Int) -> String {
    // The first host crashes twice as often.
    "host-\(number % (hosts + 1) % hosts)"
  }
  func tenant(_ number: Int) -> String? {
    number % 4 == 3 ? nil : Self.tenants[number % 4]
  }

  /// The index of a report's body; the last signature occurs in the last version only.
  func body(_ number: Int) -> Int {
    let body = number % bodies.count
    let isNew = bodies[body].facts.signature == bodies.last?.facts.signature
    return isNew && version(number) != Self.versions.last ? 0 : body
  }

  func facts(_ number: Int) -> ReportFacts {
    var facts = bodies[body(number)].facts
    facts.time = Timestamp(nanoseconds: time(number))
    facts.program = program(number)
    facts.version = version(number)
    var details = facts.details ?? ReportDetails()
    details[text: .hostName] = host(number)
    details[number: .processID] = UInt64(number % 30_000)
    details[.uptime] = UInt64(number % 1000) * 3_600_000_000
    details[.residentMemory] = UInt64(number) << 12
    details.tags = [.init(name: "request", value: "\(number)")]
    if let tenant = tenant(number) { details.tags.append(.init(name: "tenant", value: tenant)) }
    facts.details = details
    return facts
  }
}
