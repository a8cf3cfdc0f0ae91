import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashReport
@testable import PostmortemTool

/// Summaries in the formats of container runtimes and log collectors, of one process and of two mixed ones.
@Suite struct LogLinesTests {
  private static let lines = [
    "crash-summary 1 x86_64", "product NAME", "signal 11 SIGSEGV code 1 SEGV_MAPERR address 0x0",
    "thread 1 worker", #"report 3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1"#,
    "dump complete - /var/a b@id",
    #"module 0 00ff /srv/"NAME""#, "frame 0 0+0x1f2a NAME", "frame 1 0?0x1000@0x18 NAME", "end",
  ]

  /// The lines of one process.
  private func lines(of name: String) -> [String] {
    Self.lines.map { "postmortem[1]: " + $0.replacing("NAME", with: name) }
  }

  private func summaries(in log: [String]) -> (found: [LoggedSummary], unreadable: Int) {
    var lines = LogLines()
    var reader = LoggedSummaryReader()
    for line in log {
      for line in lines.take(Array(line.utf8)) { reader.take(line.bytes, from: line.source) }
    }
    for line in lines.finish() { reader.take(line.bytes, from: line.source) }
    return (reader.finish(), lines.unreadable)
  }

  private func mixed(_ first: [String], _ second: [String]) -> [String] {
    zip(first, second).flatMap { [$0, $1] }
  }

  private func expectBoth(_ log: [String], _ what: Comment) {
    let found = summaries(in: log).found
    #expect(found.map(\.product).sorted { ($0 ?? "") < ($1 ?? "") } == ["api", "web"], what)
    for summary in found {
      let name = summary.product ?? ""
      #expect(summary.isWhole && !summary.isContradictory, what)
      #expect(summary.modules == [0: .init(buildID: [0, 255], path: "/srv/\"\(name)\"")], what)
      #expect(summary.frames.map(\.offset) == [0x1f2a, 0x1000], what)
      #expect(summary.frames.map(\.moduleName) == [name, name], what)
    }
  }

  private static func json(_ object: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
  }

  @Test(arguments: [
    ["web-1  | ", "api-1  | "], ["[pod/web-5d9/web] ", "[pod/api-7c2/api] "],
    ["2026-11-26T04:20:0N.123Z web ", "2026-11-26T04:20:0N.123Z api "],
    ["Nov 26 04:20:0N a web[812]: ", "Nov 26 04:20:0N a api[813]: "],
    ["2026-11-26T04:20:0NZ {container=\"web\"} ", "2026-11-26T04:20:0NZ {container=\"api\"} "],
    ["0: ", "1: "], ["web-1 | ", "web-2 | "],
  ])
  func twoFirstProcessesWhoseLinesAreMixedAreToldApartByTheTextInFront(_ fronts: [String]) {
    let logs = zip(fronts, ["web", "api"]).map { front, name in
      lines(of: name).enumerated().map { front.replacing("N", with: "\($0)") + $1 }
    }
    expectBoth(mixed(logs[0], logs[1]), "\(fronts)")
  }

  @Test func numbersThatGrowInFrontOfEachLineHideNoSummary() {
    let log = lines(of: "web").enumerated().map { "app.log:\($0 + 998):\($1)" }
    let found = summaries(in: log).found
    #expect(found.count == 1 && found.first?.frames.count == 2 && found.first?.isWhole == true)
  }

  @Test func withNothingInFrontASummaryOfMixedLinesIsRefusedAndSaysWhatContradictsItself() throws {
    let found = summaries(in: mixed(lines(of: "web"), lines(of: "api"))).found
    try expectRefusal(of: found, saying: "product: web, then api")
  }

  /// No line occurs twice in the second summary, but its stack belongs to the first process.
  @Test(arguments: [2, 6, 8, 9])
  func soIsOneThatTookTheEndOfAnother(_ place: Int) throws {
    let (web, api) = (lines(of: "web"), lines(of: "api"))
    let log = web[..<place] + api[..<place] + web[place...] + api[place...]
    let found = summaries(in: Array(log)).found
    try expectRefusal(of: found, saying: "another line")
  }

  @Test func oneThatFollowsASummaryWithoutAnEndAsOfAProgramThatWasStartedAgainIsWhole() throws {
    let (web, api) = (lines(of: "web"), lines(of: "api"))
    for place in [1, 6, 9] {
      let found = summaries(in: Array(web[..<place]) + api + ["noise"] + api).found
      #expect(found.map(\.isWhole) == [false, true, true])
      #expect(found.allSatisfy { !$0.isContradictory })
    }
  }

  /// Checks that neither text nor JSON has a frame, a cause or an ID of the last summary.
  private func expectRefusal(of found: [LoggedSummary], saying words: String) throws {
    let last = try #require(found.last)
    #expect(last.isContradictory)
    #expect(found.filter { $0.isWhole && !$0.isContradictory }.isEmpty)
    let symbolicator = LoggedSummarySymbolicator(readsFiles: false)
    let text = symbolicator.text(of: last)
    #expect(text.contains("contradict") && text.contains(words), "\(text)")
    for word in ["SIGSEGV)", "#0", "0x1f2a", "Report 3f2a", "worker"] {
      #expect(!text.contains(word), "\(text)")
    }
    let report = symbolicator.report(of: last)
    #expect(report.threads.isEmpty && report.cause == nil && report.snapshot.exception == nil)
    #expect(report.snapshot.modules.isEmpty && report.snapshot.reportID == nil)
    #expect(report.snapshot.capture.damage?.contains(words) == true)
    #expect(!report.snapshot.capture.isComplete)
  }

  @Test(arguments: [
    "\u{1B}[31mLINE\u{1B}[0m",
    "\u{1B}[2m2026-11-26T04:20:0NZ\u{1B}[0m web \u{1B}[1;38;5;9mLINE\u{1B}[K",
  ])
  func colorsOfATerminalArePassedOver(_ form: String) throws {
    let log = lines(of: "web").enumerated().map {
      form.replacing("N", with: "\($0)").replacing("LI\($0)E", with: $1)
    }
    let summary = try #require(summaries(in: log).found.first)
    #expect(summary.isWhole && summary.dumpPath == "/var/a b@id")
    #expect(summary.frames.map(\.moduleName) == ["web", "web"])
  }

  @Test func dockersJSONIsUndoneItsCutLinesTooAndOfTwoContainersMixed() throws {
    func log(_ name: String) throws -> [String] {
      var log: [String] = []
      for (number, line) in lines(of: name).enumerated() {
        // The log driver splits a long line in this way.
        for part in line.contains("module")
          ? [String(line.prefix(30)), line.dropFirst(30) + "\n"] : [line + "\n"]
        {
          log.append(
            try Self.json([
              "log": part, "stream": "stderr", "time": "2026-11-26T04:20:0\(number).1Z",
              "attrs": ["tag": name],
            ]))
        }
      }
      return log
    }
    expectBoth(mixed(try log("web"), try log("api")), "docker")
    let front = try log("web").map { "/var/lib/docker/1-json.log:" + $0 }
    #expect(summaries(in: front).found.first?.isWhole == true)
  }

  @Test func lokisJSONIsUndoneAndOfTwoContainersMixed() throws {
    func log(_ name: String) throws -> [String] {
      try lines(of: name).map { line in
        try Self.json([
          "labels": ["container": name, "stream": "stderr"], "line": line,
          "timestamp": "2026-11-26T04:20:00Z",
        ])
      }
    }
    expectBoth(mixed(try log("web"), try log("api")), "loki")
    let nested = try log("web").map { try Self.json(["message": $0, "ts": "\(UUID())"]) }
    #expect(summaries(in: nested).found.first?.frames.count == 2)
  }

  @Test func aJournalsJSONIsUndone() throws {
    let log = try lines(of: "web").enumerated().map { number, line in
      try Self.json([
        "MESSAGE": number == 6 ? Array(line.utf8).map { Int($0) } : line as Any, "_PID": "812",
        "__CURSOR": "s=\(UUID())", "__REALTIME_TIMESTAMP": "17000000\(number)",
      ])
    }
    let found = summaries(in: log).found
    #expect(found.count == 1 && found.first?.modules.count == 1 && found.first?.isWhole == true)
  }

  @Test func entriesOfAJournalsExportAreUndoneAndOfTwoUnitsMixed() {
    func log(_ name: String) -> [[String]] {
      lines(of: name).enumerated().map { number, line in
        [
          "__CURSOR=s=\(UUID())", "__REALTIME_TIMESTAMP=17000000\(number)", "_PID=1",
          "_SYSTEMD_UNIT=\(name).service", "MESSAGE=\(line)",
          "_SOURCE_REALTIME_TIMESTAMP=\(number)", "",
        ]
      }
    }
    expectBoth(zip(log("web"), log("api")).flatMap { $0 + $1 }, "export")
    // The log lacks the empty line after the last entry.
    #expect(summaries(in: Array(log("web").joined().dropLast())).found.first?.isWhole == true)
  }

  @Test func quotedTextsAreUndoneMembersOfJSONOnLinesOfTheirOwnValuesOfLogfmtArrays() throws {
    func string(_ text: String) throws -> String {
      String(
        decoding: try JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed),
        as: UTF8.self)
    }
    let members = try lines(of: "web").flatMap {
      ["{", "\t\"_PID\" : \"1\",", "\t\"MESSAGE\" : \(try string($0)),", "}"]
    }
    let found = try #require(summaries(in: members).found.first)
    #expect(found.isWhole && found.architecture == "x86_64")
    #expect(found.modules == [0: .init(buildID: [0, 255], path: "/srv/\"web\"")])
    func values(_ name: String) throws -> [String] {
      try lines(of: name).enumerated().map {
        "ts=2026-11-26T04:20:0\($0)Z level=error msg=\(try string($1)) container=\(name)"
      }
    }
    expectBoth(mixed(try values("web"), try values("api")), "logfmt")
    let array = zip(lines(of: "web"), lines(of: "api")).flatMap {
      [["container": "web", "message": $0], ["container": "api", "message": $1]]
    }
    let text = String(decoding: try JSONSerialization.data(withJSONObject: array), as: UTF8.self)
    expectBoth([text], "array")
    let cut = try values("web").map { $0.contains("frame 1") ? String($0.dropLast(18)) : $0 }
    #expect(summaries(in: cut).unreadable == 1)
  }

  @Test func cutLinesOfAContainerRuntimeArePutTogetherOfTwoPodsMixedToo() {
    func log(_ name: String) -> [String] {
      lines(of: name).enumerated().flatMap { number, line -> [String] in
        let time = "\(name).log:2026-11-26T04:20:0\(number).123456789Z stderr"
        return [
          "\(time) P \(line.prefix(20))", "\(time) P \(line.dropFirst(20).prefix(5))",
          "\(time) F \(line.dropFirst(25))",
        ]
      }
    }
    expectBoth(mixed(log("web"), log("api")), "CRI")
  }

  @Test func jsonThatWasCutIsCountedAndLeftOut() throws {
    let log = try lines(of: "web").map { try Self.json(["log": $0 + "\n"]) }
    let result = summaries(in: log.map { $0.contains("frame 1") ? String($0.dropLast(4)) : $0 })
    #expect(result.unreadable == 1)
    #expect(result.found.first?.frames.count == 1)
  }

  @Test func otherJSONInALogIsNotTheToolsBusiness() {
    let noise = [
      #"{"level":"info","msg":"hello"}"#, #"{"a":[1,2,{"b":null}]}"#, "{", #"{"broken"#, "{}",
    ]
    let result = summaries(in: noise + lines(of: "web") + noise)
    #expect(result.unreadable == 0 && result.found.count == 1)
  }
}
