import CrashConverter
import CrashTestSupport
import Foundation
import ProcessSnapshot

/// One crash of crash-lab under FaultInjector, and the reports that the next start makes of it.
struct InjectedRun: Sendable {
  let report: InjectorReport
  /// The number of dumps with at least one byte.
  let writtenDumps: Int
  let reports: ReportDirectory

  init(_ scene: Scene, _ disturbance: Disturbance) async throws {
    try await self.init(scene.arguments, disturbance)
  }

  /// - Parameters:
  ///   - arguments: crash-lab's arguments, without the database.
  ///   - shell: commands that a shell runs before it executes crash-lab.
  init(
    _ arguments: [String], _ disturbance: Disturbance, after shell: String? = nil
  ) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let text = directory.path + "/report"
    let injector = try await BuiltProducts.shared.executable("FaultInjector", .asTested)
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      injector,
      ["--report", text, "--patience", "50"]
        + disturbance.options.map { $0.replacingOccurrences(of: "DATABASE", with: database) } + [
          "--"
        ]
        + (shell.map { ["/bin/sh", "-c", $0 + #"; exec "$0" "$@""#] } ?? []) + [victim]
        + arguments
        + ["--database", database],
      in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("FaultInjector: \(child.end) \(child.standardError)")
    }
    report = try InjectorReport(try String(contentsOfFile: text, encoding: .utf8))
    let pending = database + "/pending-serialized-dumps"
    writtenDumps = try FileManager.default.contentsOfDirectory(atPath: pending).count { name in
      let attributes = try FileManager.default.attributesOfItem(atPath: pending + "/" + name)
      let isFile = attributes[.type] as? FileAttributeType == .typeRegular
      return isFile && !name.hasSuffix(".run") && (attributes[.size] as? Int ?? 0) > 0
    }
    reports = try ReportDirectory(database)
  }

  var hasCompleteReport: Bool { reports.hasOneCompleteReport }

  /// True if each written dump became one report, marked complete or truncated as it is, and no other files
  /// exist.
  var keptWhatWasWritten: Bool {
    guard reports.snapshots.count == writtenDumps, reports.processed.count == writtenDumps,
      writtenDumps <= 1, reports.leftovers.isEmpty
    else { return false }
    return zip(reports.processed, reports.snapshots).allSatisfy { dump, snapshot in
      switch dump.outcome.kind {
      case .complete: snapshot.capture.isComplete
      case .torn: !snapshot.capture.isComplete
      default: false
      }
    }
  }
}
