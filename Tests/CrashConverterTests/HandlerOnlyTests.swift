import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// A program that links only `PostmortemHandler`, and another one that converts its dumps.
@Suite struct HandlerOnlyTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  @Test func itHoldsNothingThatReadsDumps() throws {
    func hasConverter(_ program: String) throws -> Bool {
      let path = try BuiltProducts.besideTests(program)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
      // Every symbol of the module contains its name.
      return bytes.range(of: Data("14CrashConverter".utf8)) != nil
    }
    #expect(try !hasConverter("HandlerOnlyVictim"))
    #expect(try hasConverter("crash-lab"))
  }

  @Test func anotherProgramProcessesForIt() throws {
    var crashed: [String] = []
    for deed in ["abort", "exit", "killed", "restart"] {
      let victim = try Racer("HandlerOnlyVictim", [database, deed])
      let lines = try victim.lines()
      crashed += lines.filter { $0.hasPrefix("crashing") }
    }
    #expect(crashed.count == 2)
    #expect(!FileManager.default.fileExists(atPath: database + "/pending"))
    let lines = try Racer(processingItself: "exit", database: database).lines()
    #expect(lines.filter { $0.tellsAWholeDump }.count == 2, "\(lines)")
    let processIDs = try CrashReportDatabase(path: database).reports()
      // The completed reports are about the ends of the other runs.
      .filter { $0.state == .pending }.map { report in
        let bytes = try #require(FileManager.default.contents(atPath: report.path))
        let process = try MinidumpReader.snapshot(of: Array(bytes)).process
        #expect(process.identifier == "HandlerOnlyVictim")
        return "crashing \(process.processID ?? 0)"
      }
    #expect(processIDs.sorted() == crashed.sorted())
    // Only files of the program itself are left, and none of the others.
    #expect(
      directory.names("db/pending-serialized-dumps").allSatisfy {
        $0.hasPrefix("crash-lab@")
      })
  }
}
