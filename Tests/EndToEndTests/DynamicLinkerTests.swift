import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Stackwalk
import Testing

/// Programs that are started by running the dynamic linker, which the kernel then shows as the executable.
@Suite struct DynamicLinkerTests {
  private let directory = try! SharedDirectory()
  private var database: String { directory.path + "/db" }

  /// Source: System V ABI supplements, Program Interpreter.
  private static let dynamicLinker =
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
    .first(where: FileManager.default.fileExists(atPath:)) ?? "/lib/ld.so"

  private func tool(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      Self.dynamicLinker, [try BuiltProducts.besideTests("postmortem")] + words,
      in: directory.path)
  }

  @Test func aCrashIsThatOfTheProgram() async throws {
    let program = try BuiltProducts.besideTests("crash-lab")
    let child = try await ChildProcess.run(
      Self.dynamicLinker, [program, "null-read", "--database", database, "--no-summary"],
      in: directory.path)
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let names = directory.names("db/pending-serialized-dumps")
    #expect(names.count == 3 && names.allSatisfy { $0.hasPrefix("crash-lab@") }, "\(names)")
    #expect(
      try processIntermediateDumps(database: database, storingSymbols: false).map(\.outcome)
        == [.complete])
    let reports = try CrashReportDatabase(path: database).reports()
    try #require(reports.count == 1)
    let snapshot = try MinidumpReader.snapshot(
      of: [UInt8](Data(contentsOf: URL(fileURLWithPath: reports[0].path))))
    #expect(snapshot.process.executablePath == program)
    let address = try #require(snapshot.mainModuleAddress(in: snapshot.modules))
    let main = try #require(snapshot.modules.first { $0.address == address })
    #expect(main.path == program && main.source == .program)
    #expect(main.buildID == (try ELFFile(path: program)).buildID && !main.buildID.isEmpty)
    // The tool starts itself again to read a report that is not in the index.
    unsafe unlink(database + "/reports.index")
    let list = try await tool("list", "--json", database)
    #expect(list.end.exitCode == 0, "\(list)")
    #expect(list.standardOutput.contains("\"SIGSEGV\""), "\(list)")
  }

  @Test func aRunningProcessHasTheProgramsName() async throws {
    let program = try BuiltProducts.besideTests("crash-lab")
    let victim = try RunningVictim(
      Self.dynamicLinker, [program, "live-dump", "obeying", "--database", database])
    try victim.waitForLine("ready")
    let list = try await tool("doctor", "-d", database)
    #expect(list.standardOutput.contains("\(victim.processID)  crash-lab  "), "\(list)")
    let doctor = try await tool("doctor", "\(victim.processID)")
    #expect(
      doctor.standardOutput.hasPrefix("OK: process \(victim.processID) (crash-lab): "), "\(doctor)")
  }
}
