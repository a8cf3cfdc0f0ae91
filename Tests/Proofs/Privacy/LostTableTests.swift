import CrashCatalogue
import CrashTestSupport
import Foundation
import Glibc
import PendingDumps
import Testing

/// Of an image whose file was removed or replaced, a private dump holds unwind tables and nothing else, wherever a
/// linker or another tool has put the tables and the program headers.
@Suite struct LostTableTests {
  private let directory: SharedDirectory
  private let secrets = PlantedSecrets()

  init() throws {
    directory = try SharedDirectory()
  }

  @Test(arguments: LinkedModule.Layout.allCases, ["deleted-module", "replaced-module"])
  func aModulesConstantsAndCodeStayOut(
    _ layout: LinkedModule.Layout, _ condition: String
  ) async throws {
    let place = try TemporaryDirectory()
    let module = try await LinkedModule(layout, in: place.path)
    if layout != .swiftOfLLD {
      let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: module.path)))
      #expect(secrets.found(inBytes: file).count == 4)
    }
    for privacy in ["sanitized", "no-memory"] {
      let dump = try await dump(
        of: try BuiltProducts.besideTests("crash-lab"),
        ["null-write", "--condition", condition, "--privacy", privacy], module.path)
      #expect(secrets.found(inBytes: dump).isEmpty, "\(secrets.found(inBytes: dump))")
    }
  }

  /// The program itself, whose program headers the kernel finds.
  @Test(arguments: [false, true])
  func aRemovedProgramsConstantsAndCodeStayOut(areHeadersMoved: Bool) async throws {
    let program = directory.path + "/crash-lab-\(areHeadersMoved)"
    for privacy in ["sanitized", "no-memory"] {
      try? FileManager.default.removeItem(atPath: program)
      try Spawn.copyProgram(try BuiltProducts.besideTests("crash-lab"), to: program)
      if areHeadersMoved { try LinkedModule.moveHeaders(of: program) }
      #expect(
        try secrets.found(inBytes: [UInt8](Data(contentsOf: URL(fileURLWithPath: program))))
          .isSuperset(of: PlantedSecrets.inFiles.prefix(3)))
      let dump = try await dump(
        of: "/bin/sh",
        [
          "-c", "exec 3<\"$1\"; rm \"$1\"; shift; exec /proc/self/fd/3 \"$@\"", "sh", program,
          "null-write", "--privacy", privacy,
        ], "")
      #expect(secrets.found(inBytes: dump).isEmpty, "\(secrets.found(inBytes: dump))")
    }
  }

  /// Crashes a program; returns its dump.
  private func dump(
    of program: String, _ arguments: [String], _ module: String
  ) async throws -> [UInt8] {
    let database = directory.path + "/" + UUID().uuidString
    let child = try await ChildProcess.run(
      program, arguments + ["--database", database], in: directory.path,
      environment: ["CRASHLAB_MODULE": module])
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let pending = database + "/" + PendingDumpName.directory
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: pending)
        .first { PendingDumpName(fileName: $0)?.role == .finished })
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: pending + "/" + name)))
  }
}
