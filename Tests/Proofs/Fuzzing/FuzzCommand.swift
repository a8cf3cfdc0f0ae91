internal import CrashTestSupport
internal import Foundation

/// `swift run proofs fuzz`: a fuzzing campaign that keeps its inputs, findings and counts.
struct FuzzCommand {
  private let seconds: Int
  private var samples: String?
  private var names: [String] = []

  init(_ arguments: [String]) throws {
    guard let first = arguments.first, let seconds = Int(first) else {
      throw ProofsCommand.UsageError(description: "fuzz takes a number of seconds")
    }
    self.seconds = seconds
    var rest = arguments.dropFirst()
    while let word = rest.popFirst() {
      if word == "--samples" { samples = rest.popFirst() } else { names.append(word) }
    }
  }

  /// - Returns: true if nothing was found.
  func run() async throws -> Bool {
    let all = try await FuzzRun.targets()
    if let unknown = names.first(where: { name in !all.contains { $0.name == name } }) {
      throw ProofsCommand.UsageError(description: "no target is named \(unknown)")
    }
    var isClean = true
    for target in all where names.isEmpty || names.contains(target.name) {
      let run = try await FuzzRun(target, samples: samples, isOptimized: true)
      let outcome = try await run.run(seconds: seconds)
      let hasFinding = outcome.finding != nil || outcome.log != ""
      var counts = try FuzzCounts()
      counts.add(outcome.executions, to: target.name, found: hasFinding)
      try counts.write()
      print("\(target.name): \(outcome.executions) inputs\(hasFinding ? ", a finding" : "")")
      if let finding = outcome.finding {
        let path = "\(FuzzRun.findings)/\(target.name)-\(Int(Date().timeIntervalSince1970))"
        try Data(finding).write(to: URL(fileURLWithPath: path))
        print("\(path)\n\(outcome.log)")
      } else {
        print(outcome.log, terminator: "")
      }
      try await run.keep()
      isClean = isClean && !hasFinding
    }
    return isClean
  }
}

/// The number of inputs that each target has read, in total and since the last finding.
///
/// Each line has a target's name, the total, the inputs since the last finding, and the findings.
struct FuzzCounts {
  private static let path = FuzzRun.corpora + "/counts.txt"
  private var lines: [String: [Int]] = [:]

  init() throws {
    guard let data = FileManager.default.contents(atPath: Self.path) else { return }
    for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if let name = words.first { lines[String(name)] = words.dropFirst().compactMap { Int($0) } }
    }
  }

  mutating func add(_ executions: Int, to target: String, found: Bool) {
    let old = lines[target] ?? []
    guard old.count == 3 else {
      lines[target] = [executions, found ? 0 : executions, found ? 1 : 0]
      return
    }
    lines[target] = [
      old[0] + executions, found ? 0 : old[1] + executions, old[2] + (found ? 1 : 0),
    ]
  }

  func write() throws {
    let text = lines.sorted { $0.key < $1.key }.map { name, counts in
      "\(name) \(counts.map(String.init).joined(separator: " "))\n"
    }
    try text.joined().write(toFile: Self.path, atomically: true, encoding: .utf8)
  }
}
