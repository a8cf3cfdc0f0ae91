import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot

/// A run of `crash-lab end`, with its raw wait status.
final class EndingVictim {
  /// The handler in the victim.
  enum Mode {
    case handled
    /// A handler that does not record how the run ends.
    case withoutUncleanEnds
    /// No handler.
    case alone
  }

  let processID: pid_t
  private let output: String
  private var status: Int32?

  /// - Parameter through: a command that runs the program, such as env(1).
  init(
    _ database: String, _ way: String, mode: Mode = .handled, through: [String] = []
  ) throws {
    output = "\(database).out-\(UUID().uuidString)"
    let options =
      switch mode {
      case .handled: ["--database", database]
      case .withoutUncleanEnds: ["--database", database, "--no-unclean-ends"]
      case .alone: ["--no-handler"]
      }
    let words = through + [try BuiltProducts.besideTests("crash-lab"), "end", way] + options
    processID = try Spawn.start(
      words[0], words,
      environment: ProcessInfo.processInfo.environment.merging(
        ["SWIFT_BACKTRACE": "enable=no"]
      ) { _, new in new }, output: .file(output), errors: .null)
  }

  deinit {
    if status == nil {
      kill(processID, SIGKILL)
      waitpid(processID, nil, 0)
    }
    unsafe unlink(output)
  }

  private var lines: [Substring] {
    let text = FileManager.default.contents(atPath: output) ?? Data()
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
  }

  /// The process that continues after daemon(3); nil if none printed its ID within a minute.
  func daemonProcessID() -> pid_t? {
    for _ in 0..<6000 {
      let line = lines.first { $0.hasPrefix("daemon ") }
      if let line { return pid_t(line.dropFirst("daemon ".count)) }
      usleep(10_000)
    }
    return nil
  }

  /// Waits until a process that is not a child of the test has ended, even if its parent has not waited for it; returns
  /// false after a minute.
  static func waitForEnd(of processID: pid_t) -> Bool {
    for _ in 0..<6000 {
      let text = FileManager.default.contents(atPath: "/proc/\(processID)/stat") ?? Data()
      let state = String(decoding: text, as: UTF8.self).split(separator: ")").last?.dropFirst()
        .first
      if state == nil || state == "Z" || state == "X" { return true }
      usleep(10_000)
    }
    return false
  }

  /// Waits until the victim has printed a line; returns false if it ended before, or after a minute.
  func waitForLine(_ line: String) -> Bool {
    for _ in 0..<6000 {
      if lines.contains(Substring(line)) { return true }
      var information = unsafe siginfo_t()
      unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT | WNOHANG)
      if unsafe information.si_signo != 0 { return false }
      usleep(10_000)
    }
    return false
  }

  func signal(_ number: Int32) { _ = kill(processID, number) }

  /// Waits for the victim's end, and collects its wait status.
  @discardableResult
  func end() -> ChildEnd {
    var status: Int32 = 0
    while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
    self.status = status
    return ChildEnd(status: status)
  }

  /// Waits for the victim's end, and leaves it a zombie.
  func waitForZombie() {
    var information = unsafe siginfo_t()
    unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
  }
}

/// A database and its reports on the ends of runs.
struct EndDirectory {
  private let directory: SharedDirectory
  var database: String { directory.path + "/db" }
  var pending: [String] { directory.names("db/pending-serialized-dumps") }
  var pendingPath: String { database + "/pending-serialized-dumps" }

  init() throws { directory = try SharedDirectory() }

  func process() throws -> [ProcessedDump] {
    try processIntermediateDumps(
      database: database, identifier: "crash-lab", storingSymbols: false)
  }

  /// All reports on ends, oldest first, with their states.
  func ends() throws -> [(state: StoredReport.State, snapshot: ProcessSnapshot, end: RunEnd)] {
    try CrashReportDatabase(path: database).reports().compactMap { report in
      let bytes = FileManager.default.contents(atPath: report.path) ?? Data()
      let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
      return snapshot.end.map { (report.state, snapshot, $0) }
    }
  }

  /// The run records with their names, except temporary ones that are being written.
  private var records: [(name: String, record: RunRecord)] {
    pending.filter { $0.hasSuffix(".run") }.compactMap { name in
      let path = "db/pending-serialized-dumps/" + name
      return directory.bytes(path).flatMap(RunRecord.init(bytes:)).map { (path, $0) }
    }
  }

  /// The run record that belongs to a locked file.
  func record(beside name: String) -> RunRecord? {
    guard let record = PendingDumpName(fileName: name)?.with(role: .runRecord) else { return nil }
    return directory.bytes("db/pending-serialized-dumps/\(record)").flatMap(RunRecord.init(bytes:))
  }

  /// Changes the only run record to what another time or machine would have written.
  func changeRecord(_ change: (inout RunRecord) -> Void) throws {
    guard let first = records.first else { throw CocoaError(.fileReadUnknown) }
    let name = first.name
    var record = first.record
    change(&record)
    try directory.put(record.encoded() ?? [], name)
  }

  /// Waits until a run record fulfills a condition; returns false after a minute.
  func waitForRecord(_ says: (RunCourse) -> Bool) -> Bool {
    for _ in 0..<6000 {
      if records.contains(where: { $0.record.course.map(says) == true }) { return true }
      usleep(10_000)
    }
    return false
  }
}
