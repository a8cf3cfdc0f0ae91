internal import CrashTestSupport
internal import Foundation
internal import IntermediateDump

/// crash-lab in a folder of its own, for one case.
final class CatalogueVictim: Sendable {
  private let testCase: CatalogueCase
  private let executable: String
  private let modules: VictimModules
  private let folder: TemporaryFolder

  init(_ testCase: CatalogueCase, _ modules: VictimModules) async throws {
    self.testCase = testCase
    self.modules = modules
    executable = try await BuiltProducts.shared.executable("crash-lab", testCase.build)
    folder = try TemporaryFolder()
    _ = try folder.subfolder("work")
    _ = try folder.subfolder("database")
  }

  var database: String { folder.path + "/database" }

  func die(handled: Bool) async throws -> ChildProcess {
    let command = [executable] + testCase.arguments(database: handled ? database : nil)
    let line = testCase.condition.launch.commandLine(command)
    let environment = [
      "SWIFT_BACKTRACE": "enable=no", "DATABASE": database, "DEBUGINFOD_URLS": "",
      "CRASHLAB_RESOLVER_MODULE": modules.resolver,
      "CRASHLAB_MODULE": modules.module, "CRASHLAB_MODULES": modules.folder,
    ].merging(testCase.condition.environment) { _, new in new }
    return try await ChildProcess.run(
      "/usr/bin/env", line, in: folder.path + "/work", environment: environment,
      leadsGroup: environment["SWIFT_BACKTRACE"] != "enable=no",
      patience: testCase.patience)
  }

  /// Leaves dumps as so many crashes would have: one real dump under many report IDs.
  ///
  /// - Returns: those IDs.
  func leaveDumps(_ count: Int) async throws -> Set<ReportID> {
    guard count > 0 else { return [] }
    let first = folder.path + "/first"
    let child = try await ChildProcess.run(
      executable, ["null-read", "--database", first], in: folder.path + "/work",
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    let source = first + "/" + PendingDumpName.folder
    let names = try FileManager.default.contentsOfDirectory(atPath: source)
      .compactMap { PendingDumpName(fileName: $0) }.filter { $0.role == .finished }
    guard let name = names.first else { throw OutsideToolError("no dump to copy: \(child.end)") }
    let target = database + "/" + PendingDumpName.folder
    try FileManager.default.createDirectory(
      atPath: target, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var reports: Set<ReportID> = []
    while reports.count < count {
      let report = ReportID()
      reports.insert(report)
      let copy = "\(name.identifier)@\(report)"
      try FileManager.default.copyItem(
        atPath: source + "/" + name.description, toPath: target + "/" + copy)
    }
    return reports
  }
}
