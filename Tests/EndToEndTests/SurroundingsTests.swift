import CrashAnalysis
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// A report has the facts that /proc showed of the process directly before its crash.
@Suite struct SurroundingsTests {
  /// Opens files in addition to the initial ones: an existing one, a deleted one, a directory, and a socket
  /// without a peer.
  private static let script = """
    mkdir "$1" && cd "$1" && exec 40>kept 41>gone 43</ 44<>/dev/udp/127.0.0.1/9 && rm gone && shift && exec "$@"
    """

  private let directory = try! SharedDirectory()
  private var database: String { directory.path + "/db" }

  @Test func theyAreWhatProcSays() async throws {
    let victim = try RunningVictim(
      "/bin/bash",
      [
        "-c", Self.script, "bash", directory.path + "/here",
        try BuiltProducts.besideTests("crash-lab"), "live-dump", "obeying", "--database", database,
      ])
    try victim.waitForLine("ready")
    let links = try Self.links(victim.processID)
    let place = try Self.link("/proc/\(victim.processID)/cwd")
    let status = try String(contentsOfFile: "/proc/\(victim.processID)/status", encoding: .utf8)
    victim.signal(SIGSEGV)
    #expect(victim.waitForEnd() == SIGSEGV)

    let report = try await onlyReport()
    let process = report.snapshot.process
    #expect(place.hasSuffix("/here") && process.workingDirectory == place)
    let users = try #require(process.userIDs)
    #expect(status.contains("\nUid:\t\(users.real)\t\(users.effective)\t"))
    let host = try String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8)
    #expect(report.snapshot.system.hostName == host.trimmingCharacters(in: .newlines))

    let descriptors = Dictionary(
      process.descriptors.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    // These are the program's descriptors; the handler closes some of its own during the crash.
    for number in [0, 1, 40, 41, 43, 44] as [UInt32] {
      let found = try #require(descriptors[number], "\(number) of \(links)")
      #expect(found.path.map { $0 + (found.isDeleted ? " (deleted)" : "") } == links[number])
    }
    // The shell does not open 43 with O_DIRECTORY; the handler opens its own directory with it.
    #expect([40, 41, 43, 44].map { descriptors[$0]?.kind } == [.file, .file, .file, .socket])
    let pending = process.descriptors.first { $0.path == database + "/pending-serialized-dumps" }
    #expect(pending?.kind == .directory)
    #expect(descriptors[0]?.kind == .pipe)
    #expect(process.descriptors.filter(\.isDeleted).map(\.number) == [41])
    let open = try #require(process.descriptorCount)
    #expect(process.descriptors.count <= Int(open))

    let text = TextReport.text(of: report, width: 200)
    #expect(text.contains(place) && text.contains("(1 deleted)"), "\(text)")
    #expect(HTMLReport.text(of: report).contains("file \(place)/gone (deleted)"))
  }

  @Test func argumentsAndEnvironmentAreNoPartOfTheMainThreadsStack() async throws {
    var environment = ["SWIFT_BACKTRACE": "enable=no"]
    for number in 0..<8 { environment["LARGE_\(number)"] = String(repeating: "x", count: 8 << 10) }
    let crash = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      ["null-read", "--on", "pthread", "--database", database], in: directory.path,
      environment: environment)
    #expect(crash.end.signal == SIGSEGV)
    let snapshot = try await onlyReport().snapshot
    let main = try #require(snapshot.threads.first { $0.id == snapshot.process.processID })
    #expect(main.stackBytesOmitted == 0 && main.stack.first.map { $0.count > 0 } == true)
  }

  private func onlyReport() async throws -> CrashReport {
    let run = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["process", database], in: directory.path)
    #expect(run.end.exitCode == 0, "\(run)")
    let reports = try CrashReportDatabase(path: database).reports().filter { $0.state != .new }
    try #require(reports.count == 1)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    return CrashReport(snapshot: snapshot, symbolicating: false)
  }

  private static func link(_ path: String) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: path)
  }

  private static func links(_ processID: Int32) throws -> [UInt32: String] {
    let directory = "/proc/\(processID)/fd"
    var links: [UInt32: String] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      guard let number = UInt32(name) else { continue }
      links[number] = try? link(directory + "/" + name)
    }
    return links
  }
}
