import CrashTestSupport
import Foundation
import Testing

/// Runs the commands of Docs/Guide/Journeys.md as written, and checks that they print the lines below them.
@Suite(.serialized, .needs(.objcopy))
struct JourneyTests {
  /// A command of a page, and the expected lines of its output, in order.
  struct Step {
    let command: String
    var lines: [String] = []
  }

  struct Journey: CustomStringConvertible, Sendable {
    let description: String
    var steps: [Step] = []
  }

  /// The sections of the page that have commands.
  static func journeys() throws -> [Journey] {
    let page = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Guide/Journeys.md", encoding: .utf8)
    var journeys: [Journey] = []
    var isConsole = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.hasPrefix("## ") {
        journeys.append(Journey(description: String(line.dropFirst(3))))
      } else if line.hasPrefix("```") {
        isConsole = line == "```console"
      } else if isConsole, !journeys.isEmpty {
        let last = journeys.count - 1
        if line.hasPrefix("$ ") {
          journeys[last].steps.append(Step(command: String(line.dropFirst(2))))
        } else if !journeys[last].steps.isEmpty {
          journeys[last].steps[journeys[last].steps.count - 1].lines.append(line)
        }
      }
    }
    return journeys
  }

  @Test func thePageHasItsJourneysAndNoneIsLongerThanTwoCommands() throws {
    let journeys = try Self.journeys()
    #expect(journeys.count == 7 && journeys.allSatisfy { $0.steps.count > 1 })
    #expect(journeys.flatMap(\.steps).filter { !$0.lines.isEmpty }.count > 12)
  }

  @Test(arguments: try journeys())
  func eachCommandPrintsWhatThePageSays(_ journey: Journey) async throws {
    let directory = try SharedDirectory()
    let products = URL(fileURLWithPath: try BuiltProducts.besideTests("crash-lab"))
      .deletingLastPathComponent().path
    for name in ["web", "worker"] {
      try Spawn.copyProgram(products + "/crash-lab", to: directory.path + "/" + name)
    }
    // The optimized tool has enough time to find all names at conversion.
    let tool = URL(
      fileURLWithPath: try await BuiltProducts.shared.executable("postmortem", .release)
    )
    .deletingLastPathComponent().path
    for step in journey.steps {
      let child = try await ChildProcess.run(
        "/bin/sh", ["-c", "exec 2>&1; \(step.command)\n:"], in: directory.path,
        environment: [
          "PATH": "\(tool):\(products):/usr/bin:/bin",
          "POSTMORTEM_DATABASE": directory.path + "/db",
          "POSTMORTEM_NO_SYMBOL_CACHE": "1", "SWIFT_BACKTRACE": "enable=no",
        ])
      var output = child.standardOutput.split(separator: "\n")[...]
      for line in step.lines {
        let place = output.firstIndex { Self.fits(String($0), line) }
        let seen = try #require(
          place, "\(step.command)\n prints no (or no later) \(line)\n but \(child.standardOutput)")
        output = output[(seen + 1)...]
      }
    }
  }

  /// True if a line matches a pattern, in which `…` stands for any text.
  private static func fits(_ line: String, _ pattern: String) -> Bool {
    let pieces = pattern.components(separatedBy: "…")
    guard let first = pieces.first, line.hasPrefix(first) else { return false }
    var rest = line.dropFirst(first.count)
    for piece in pieces.dropFirst() where !piece.isEmpty {
      guard let range = rest.range(of: piece) else { return false }
      rest = rest[range.upperBound...]
    }
    return pieces.count > 1 || line == pattern
  }
}
