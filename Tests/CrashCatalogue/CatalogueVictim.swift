internal import CrashTestSupport
internal import Foundation
internal import IntermediateDump
internal import PendingDumps

/// Runs crash-lab for one case, in its own directory.
final class CatalogueVictim: Sendable {
  private let testCase: CatalogueCase
  private let executable: String
  private let modules: VictimModules
  private let root: CatalogueRoot?
  private let directory: TemporaryDirectory

  init(_ testCase: CatalogueCase, _ modules: VictimModules, _ root: CatalogueRoot?) async throws {
    self.root = root
    self.testCase = testCase
    self.modules = modules
    executable = try await BuiltProducts.shared.executable("crash-lab", testCase.build)
    directory = try TemporaryDirectory()
    _ = try directory.subdirectory("work")
    _ = try directory.subdirectory("database")
  }

  var database: String { directory.path + "/database" }

  func die(handled: Bool) async throws -> ChildProcess {
    let command =
      (root?.enter ?? []) + [executable] + testCase.arguments(database: handled ? database : nil)
    let line = testCase.condition.launch.commandLine(command)
    let environment = [
      "SWIFT_BACKTRACE": "enable=no", "DATABASE": database, "DEBUGINFOD_URLS": "",
      "CRASHLAB_RESOLVER_MODULE": modules.resolver,
      "CRASHLAB_MODULE": modules.module, "CRASHLAB_MODULES": modules.directory,
    ].merging(testCase.condition.environment) { _, new in new }
    return try await ChildProcess.run(
      "/usr/bin/env", line, in: directory.path + "/work", environment: environment,
      leadsGroup: environment["SWIFT_BACKTRACE"] != "enable=no",
      patience: testCase.patience)
  }

  /// Leaves the dumps of a number of crashes: copies of one real dump with different report IDs.
  ///
  /// - Returns: the report IDs.
  func leaveDumps(_ count: Int) async throws -> Set<ReportID> {
    guard count > 0 else { return [] }
    let first = directory.path + "/first"
    let child = try await ChildProcess.run(
      executable, ["null-read", "--database", first], in: directory.path + "/work",
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    let source = first + "/" + PendingDumpName.directory
    let names = try FileManager.default.contentsOfDirectory(atPath: source)
      .compactMap { PendingDumpName(fileName: $0) }.filter { $0.role == .finished }
    guard let name = names.first else { throw OutsideToolError("no dump to copy: \(child.end)") }
    let target = database + "/" + PendingDumpName.directory
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
