internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import CrashTestSupport
internal import Foundation
internal import Minidump
package import ProcessSnapshot

/// Runs crash-lab with a known number of open contexts.
package struct InFlightVictim: Sendable {
  /// The number of entries in the handler's table.
  package static let capacity = 504

  package let snapshot: ProcessSnapshot
  private let count: Int

  /// Runs crash-lab until it has crashed or was killed, and converts its files.
  package init(
    executable: String, count: Int, isKilled: Bool = false, isForked: Bool = false,
    in directory: String
  ) async throws {
    self.count = count
    let database = directory + "/database"
    let arguments = [
      isForked ? "forked-in-flight" : "in-flight", "\(count)", "--database", database,
    ]
    if isKilled {
      let victim = try RunningVictim(executable, arguments)
      try victim.waitForLine("ready")
      // The second heartbeat from now on starts after the program was ready.
      for _ in 0..<2 { try await Self.waitForHeartbeat(in: database) }
      victim.kill()
    } else {
      _ = try await ChildProcess.run(
        executable, arguments, in: directory, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    let reports = try CrashReportDatabase(path: database).reports()
    guard reports.count == 1 else { throw OutsideToolError("\(reports)") }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    try FileManager.default.removeItem(atPath: database)
  }

  /// Waits until the run record changes.
  private static func waitForHeartbeat(in database: String) async throws {
    let pending = database + "/pending-serialized-dumps"
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
    guard let name = names.first(where: { $0.hasSuffix(".run") }) else {
      throw OutsideToolError("no run record: \(names)")
    }
    func record() throws -> Data {
      try Data(contentsOf: URL(fileURLWithPath: pending + "/" + name))
    }
    let before = try record()
    while try record() == before { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// The differences from the contexts that were open; empty if there are none.
  package var failures: [String] { Self.failures(snapshot.client, count: count) }

  /// - Parameter count: the number of requests that were open.
  package static func failures(_ client: ClientInformation, count: Int) -> [String] {
    guard let open = client.openContexts else { return ["no table"] }
    var failures: [String] = []
    func expect(_ isRight: Bool, _ text: String) { if !isRight { failures.append(text) } }
    let works = open.works
    let nested = open.contexts.count { $0.isNested }
    expect(open.count == UInt64(count), "\(open.count) in flight")
    expect(open.incompleteCount == 0, "\(open.incompleteCount) not whole")
    expect(
      open.contexts.count == min(capacity, count + (count + 9) / 10), "\(open.contexts.count)")
    expect(
      UInt64(nested) + open.nestedOmittedCount == UInt64((count + 9) / 10),
      "\(nested) and \(open.nestedOmittedCount) inside others")
    expect(open.contexts.map(\.uptime) == open.contexts.map(\.uptime).sorted(), "not by age")
    var seen: Set<String> = []
    for work in works {
      let values = Dictionary(
        work.values.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
      // The outer context of a request may have no entry.
      let word = (values["request-id"] ?? values["part"])?.split(separator: "-").last ?? ""
      guard let number = Int(word), number < count, seen.insert(String(word)).inserted else {
        failures.append("\(values)")
        continue
      }
      var expected = ["request-id": "request-\(number)", "user": "user-\(number)"]
      if number % 10 == 0 { expected["part"] = "part-\(number)" }
      let isAllThere = count + count / 10 < capacity
      expect(
        isAllThere ? values == expected : values.allSatisfy { expected[$0.key] == $0.value },
        "\(number): \(values)")
    }
    if count > 0 {
      expect(works.first?.values.first?.value == "request-0", "\(works.first as Any)")
    }
    return failures
  }
}
