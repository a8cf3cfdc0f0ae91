internal import Foundation

/// The result of a proof, collected from the events of Swift Testing.
struct ProofRecord: Sendable {
  let name: String
  let summary: String
  /// The number of test functions that ran.
  var tests = 0
  /// The number of test cases, one for each combination of arguments, and of runs of the catalogue.
  var cases = 0
  /// The number of failed tests, or failed runs of the catalogue.
  var failed = 0
  /// The number of skipped tests, by the missing requirement.
  var skipped: [String: Int] = [:]
  /// Why the proof could not be completed; nil if it was.
  var obstacle: String?
  var seconds = 0.0
  /// The processor time of all processes that the proof ran.
  var processorSeconds = 0.0

  /// True if the proof ran and nothing failed.
  ///
  /// With CI=true, a test whose tool is missing runs and fails; it is skipped only if the tool cannot be
  /// installed.
  var holds: Bool { failed == 0 && obstacle == nil }

  private var parameterized: Set<String> = []
  private var starts: [String: Double] = [:]
  private var casesOf: [String: Int] = [:]
  private var failing: Set<String> = []
  private var functions: Set<String> = []

  /// The tests that have started and not ended.
  var underWay: [String] { starts.keys.filter(functions.contains).map(Self.short).sorted() }

  init(_ proof: Proof, _ extent: ProofExtent) {
    name = proof.name
    summary = (extent == .sample ? "a sample: " : "") + proof.summary
  }

  /// Processes one line of the event stream.
  ///
  /// - Returns: the lines to show.
  mutating func take(_ line: some StringProtocol) -> [String] {
    guard let entry = try? JSONDecoder().decode(TestEvent.self, from: Data(line.utf8)) else {
      return ["unreadable event: \(line)"]
    }
    let payload = entry.payload
    guard entry.kind == "event", let id = payload.testID else {
      if entry.kind == "test", payload.kind == "function", let id = payload.id {
        functions.insert(id)
        if payload.isParameterized == true { parameterized.insert(id) }
      }
      return []
    }
    let time = payload.instant?.absolute ?? 0
    switch payload.kind {
    case "testStarted":
      starts[id] = time
    case "testCaseStarted":
      casesOf[id, default: 0] += 1
    case "issueRecorded":
      guard payload.issue?.isKnown != true else { return [] }
      failing.insert(id)
      return ["✘ \(Self.short(id))"] + (payload.messages ?? []).map { "    \($0.text)" }
    case "testSkipped" where functions.contains(id):
      return skip(id, payload)
    case "testCaseCancelled":
      // The case has started, but was not run.
      casesOf[id, default: 0] -= 1
      return skip(id, payload)
    case "testEnded" where functions.contains(id):
      let count = parameterized.contains(id) ? casesOf[id] ?? 0 : 1
      tests += 1
      cases += count
      let isFailed = failing.contains(id)
      if isFailed { failed += 1 }
      let seconds = String(format: "%.1f s", time - (starts.removeValue(forKey: id) ?? time))
      let runs = count == 1 ? "" : "\(count) cases, "
      return ["\(isFailed ? "✘" : "✔") \(Self.short(id)): \(runs)\(seconds)"]
    default: break
    }
    return []
  }

  private mutating func skip(_ id: String, _ payload: TestEvent.Payload) -> [String] {
    let reason = payload.comments?.first ?? "no reason given"
    skipped[reason, default: 0] += 1
    return ["- \(Self.short(id)): skipped, \(reason)"]
  }

  /// Shortens a test's ID: removes the module, the argument labels and the position in the file.
  private static func short(_ id: String) -> String {
    let parts = id.split(separator: "/")
    let suite = parts.first?.split(separator: ".").last ?? ""
    return ([String(suite)] + parts.dropFirst().prefix(1).map { String($0.prefix { $0 != "(" }) })
      .joined(separator: ".")
  }
}

/// A line of the event stream, version 0 of Swift Testing's schema.
struct TestEvent: Decodable {
  let kind: String
  let payload: Payload

  struct Payload: Decodable {
    struct Instant: Decodable {
      let absolute: Double
    }
    struct Issue: Decodable {
      let isKnown: Bool?
    }
    struct Message: Decodable {
      let text: String
    }

    let kind: String
    let id: String?
    let isParameterized: Bool?
    let testID: String?
    let instant: Instant?
    let issue: Issue?
    let messages: [Message]?
    let comments: [String]?

    enum CodingKeys: String, CodingKey {
      case kind, id, isParameterized, testID, instant, issue, messages
      case comments = "_comments"
    }
  }
}
