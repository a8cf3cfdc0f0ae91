internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import CrashTestSupport
internal import Foundation
internal import Minidump
package import ProcessSnapshot

/// Runs crash-lab, which handles many requests at once until one of them crashes.
package final class WorkingVictim: Sendable {
  package static let scenes = ["task", "child", "group", "outliving", "thread"]

  private let executable: String
  private let directory: TemporaryDirectory

  package init(executable: String) throws {
    self.executable = executable
    directory = try TemporaryDirectory()
  }

  /// The reports and the ledger of a run.
  package struct Run: Sendable {
    package let snapshot: ProcessSnapshot
    /// The requests that were completed before the crash.
    package let done: Int
    package let crashed: Int
    fileprivate let running: [UInt8]

    /// Converts and reads the files of a process that has ended.
    package init(database: String, ledger: String) throws {
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: ledger)))
      _ = try processIntermediateDumps(database: database, storingSymbols: false)
      let reports = try CrashReportDatabase(path: database).reports()
      guard reports.count == 1, bytes.count > 64 else { throw OutsideToolError("\(reports)") }
      let dump = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
      func word(_ offset: Int) -> Int {
        bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
      }
      snapshot = try MinidumpReader.snapshot(of: [UInt8](dump))
      (done, crashed, running) = (word(4), word(0), Array(bytes.dropFirst(64)))
    }
  }

  /// Runs the victim once.
  ///
  /// - Parameter requests: the number of the first request that may crash.
  package func run(_ scene: String, requests: Int) async throws -> Run {
    let database = directory.path + "/database"
    let ledger = directory.path + "/ledger"
    let child = try await ChildProcess.run(
      executable, ["work", scene, "\(requests)", ledger, "--database", database],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    do {
      let run = try Run(database: database, ledger: ledger)
      try FileManager.default.removeItem(atPath: database)
      return run
    } catch {
      throw OutsideToolError("\(error) \(child.end) \(child.standardError)")
    }
  }
}

extension WorkingVictim.Run {
  /// Lists the errors in contexts and breadcrumbs; empty if there are none.
  ///
  /// The words of a request contain its number, and only requests that run may be shown.
  package func failures(_ scene: String) -> [String] {
    let client = snapshot.client
    var failures: [String] = []
    guard let thread = snapshot.exception?.threadID else { return ["no exception"] }
    var expected = [
      "request-id": "request-\(crashed)", "user": "user-\(crashed &* 7919 % 100_003)",
    ]
    if ["task", "child", "group"].contains(scene) { expected["part"] = "\(scene)-\(crashed)" }
    let contexts = client.contextsByThread
    let shown = Dictionary(
      (contexts[thread] ?? []).map { ($0.name, $0.value) },
      uniquingKeysWith: { first, _ in first })
    if shown != expected { failures.append("crashed in \(expected), shown \(shown)") }
    if client.contexts.first?.threadID != thread { failures.append("not first") }
    for others in contexts.values { failures += inconsistencies(others) }
    // A request whose outermost context has just ended may still have open inner ones.
    for work in client.openContexts?.works ?? [] where work.values.first?.name == "request-id" {
      failures += inconsistencies(
        work.values.map { .init(threadID: 0, name: $0.name, value: $0.value) })
    }
    if client.openContexts?.works.contains(where: { $0.values.first?.value == "request-\(crashed)" }
    )
      != !(scene == "outliving")
    {
      failures.append("request-\(crashed) in flight")
    }
    let prefix = "request-\(crashed) "
    let texts = client.workBreadcrumbs.map(\.text)
    // The other tasks of the request may run on until they are stopped.
    if !texts.contains(prefix + "crashes") || !texts.allSatisfy({ $0.hasPrefix(prefix) }) {
      failures.append("breadcrumbs of \(crashed): \(texts)")
    }
    return failures
  }

  /// The words that do not belong to one running request.
  private func inconsistencies(_ contexts: [ClientInformation.Context]) -> [String] {
    guard let id = contexts.first, id.name == "request-id", id.value.hasPrefix("request-"),
      let number = Int(id.value.dropFirst("request-".count)), running.indices.contains(number)
    else { return ["\(contexts)"] }
    var failures: [String] = []
    if running[number] != 1 { failures.append("\(number) was not running") }
    for context in contexts.dropFirst() {
      let isRight =
        switch context.name {
        case "user": context.value == "user-\(number &* 7919 % 100_003)"
        case "part": context.value.hasSuffix("-\(number)")
        default: false
        }
      if !isRight { failures.append("\(context.name) = \(context.value) of \(number)") }
    }
    return failures
  }
}
