import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// The words in the JSON form of a report.
struct ObjectReport: Decodable {
  struct Word: Decodable {
    struct Object: Decodable {
      let kind: String
      let type: String?
      let state: String
      let size: Int?
      let text: String?
      let bytes: String?
      let elements: [String]
    }
    let place: String
    let value: String
    let pattern: String?
    let object: Object?
  }
  struct Thread: Decodable {
    let crashed: Bool
    let registers: [String: String]
  }
  let explanation: String?
  let message: String?
  let words: [Word]
  let threads: [Thread]

  /// True for the name itself, and for a name with "_" in place of an argument that is not in the dump.
  static func fits(_ name: String, _ type: String) -> Bool {
    if name == type { return true }
    let parts = name.split(separator: "_", omittingEmptySubsequences: false)
    var rest = type[...]
    for (index, part) in parts.enumerated() {
      if index == 0 {
        guard rest.hasPrefix(part) else { return false }
        rest = rest.dropFirst(part.count)
      } else if index == parts.count - 1 {
        return rest.hasSuffix(part)
      } else {
        guard let range = rest.firstRange(of: part) else { return false }
        rest = rest[range.upperBound...]
      }
    }
    return false
  }
}

/// crash-lab in its own directory, and the tool.
struct ObjectScene {
  /// True with `--full`.
  static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_OBJECTS"] == "all"

  /// Kinds whose crashing thread runs the function that was called with objects.
  static let kinds = KnownCrash.all.filter { !["uncaught-error", "cpu-limit"].contains($0.kind) }

  let directory: SharedDirectory
  let lab: String
  let tool: String

  init(_ configuration: BuildConfiguration = .asTested) async throws {
    try await self.init(lab: BuiltProducts.shared.executable("crash-lab", configuration))
  }

  /// A scene with another build of crash-lab.
  init(lab: String) async throws {
    directory = try SharedDirectory()
    self.lab = lab
    // Without optimization, the tool takes seconds for a report.
    tool = try await BuiltProducts.shared.executable("postmortem", .release)
  }

  /// Runs a scene with the handler; returns its output and the report.
  ///
  /// - Parameter options: the options of the conversion; nil to show the dump itself, which takes half of the
  ///   time.
  func run(
    _ name: String, first: Int = 0, _ options: [String]? = nil, environment: [String: String] = [:]
  ) async throws -> (output: String, report: ObjectReport?) {
    let database = "\(directory.path)/db-\(name)-\(first)-\(UUID().uuidString)"
    return try await run(["objects", name, database, "\(first)"], database, options, environment)
  }

  /// Runs a crash of a kind in a function that was called with objects.
  func run(
    _ crash: KnownCrash, _ more: [String] = [], converting options: [String]? = nil
  ) async throws -> (output: String, report: ObjectReport?) {
    let database = "\(directory.path)/db-\(crash.kind)-\(UUID().uuidString)"
    return try await run(Self.words(crash, database) + more, database, options)
  }

  /// The arguments of crash-lab for such a crash.
  static func words(_ crash: KnownCrash, _ database: String) -> [String] {
    [
      crash.kind, "--database", database, "--among-objects", "--on",
      (crash.places.first ?? .main).rawValue,
    ]
  }

  private func run(
    _ words: [String], _ database: String, _ options: [String]?,
    _ environment: [String: String] = [:]
  ) async throws -> (output: String, report: ObjectReport?) {
    defer { try? FileManager.default.removeItem(atPath: database) }
    let child = try await ChildProcess.run(
      lab, words, in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 })
    guard child.end.signal != nil else { return (child.standardOutput, nil) }
    if let options {
      _ = try await ChildProcess.run(tool, ["process", database] + options, in: directory.path)
    }
    return (child.standardOutput, try await show(database))
  }

  func show(_ path: String) async throws -> ObjectReport {
    let json = try await ChildProcess.run(
      tool, ["show", path, "--json", "--no-cache"], in: directory.path)
    guard json.end.exitCode == 0 else { throw OutsideToolError(json.standardError) }
    return try JSONDecoder().decode(ObjectReport.self, from: Data(json.standardOutput.utf8))
  }
}
