import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashReportUpload

/// The event of a made-up crash.
@Suite struct SentryEventTests {
  private func event(
    fields: [String: String] = [:], _ change: (inout ProcessSnapshot) -> Void = { _ in }
  ) -> SentryEvent {
    var snapshot = SyntheticProcess.snapshot()
    change(&snapshot)
    return SentryEvent(
      report: CrashReport(snapshot: snapshot, symbolicating: false),
      reportID: SyntheticProcess.reportID, fields: fields)
  }

  @Test func theCrashIsTold() throws {
    let event = event(fields: ["tenant": "a", "prod": "shop", "ver": "2.0"])
    let value = event.value(SentryCuts())
    #expect(value["event_id"] == "0123456789ab4cde8f0123456789abcd")
    #expect(value["platform"] == "native" && value["level"] == "fatal")
    #expect(value["timestamp"] == "2023-11-14T22:26:17.987654Z")
    #expect(value["release"] == "shop@2.0" && value["environment"] == "staging")
    #expect(value["dist"] == .text(SyntheticProcess.buildID.hexadecimal))
    #expect(value["tags"]?["tenant"] == "a" && value["tags"]?["signal"] == "SIGSEGV")
    let exception = try #require(value["exception"]?["values"]?.elements.last)
    #expect(exception["type"] == "SIGSEGV" && exception["thread_id"] == 4001)
    #expect(exception["value"]?.string?.contains("Index out of range") == true)
    let signal = try #require(exception["mechanism"]?["meta"]?["signal"])
    #expect(exception["mechanism"]?["handled"] == false)
    #expect(signal["number"] == 11 && signal["name"] == "SIGSEGV")
    #expect(signal["code"] == 1 && signal["code_name"] == "SEGV_MAPERR")
    let frames = try #require(exception["stacktrace"]?["frames"]?.elements)
    let innermost = try #require(event.report.threads[0].frames.first)
    #expect(frames.last?["instruction_addr"] == .text(innermost.address.description))
    #expect(exception["stacktrace"]?["registers"]?["rip"]?.string?.hasPrefix("0x") == true)
    #expect(value["threads"]?["values"]?.elements.count == 4)
    let image = try #require(value["debug_meta"]?["images"]?.elements.first)
    #expect(image["type"] == "elf" && image["code_id"] == value["dist"])
    #expect(image["debug_id"] == "a3a2a1a0-a5a4-a7a6-a8a9-aaabacadaeaf")
  }

  /// SIGQUIT from another process is information; from the process itself, or for another signal, it is a crash.
  @Test(arguments: [(3, 7, true), (3, 4001, false), (6, 7, false)])
  func aRequestToQuitIsNoCrash(signal: Int32, sender: UInt32, isRequest: Bool) throws {
    let event = event {
      $0.exception?.signal = signal
      $0.exception?.code = 0
      $0.exception?.address = nil
      $0.process.processID = 4001
      var information = [UInt8](repeating: 0, count: 128)
      information[16] = UInt8(truncatingIfNeeded: sender)
      information[17] = UInt8(truncatingIfNeeded: sender >> 8)
      $0.exception?.signalInfo = information
    }
    let value = event.value(SentryCuts())
    #expect(value["level"] == (isRequest ? "info" : "fatal"))
    let exception = try #require(value["exception"]?["values"]?.elements.last)
    #expect(exception["mechanism"]?["handled"] == .bool(isRequest))
    #expect(
      exception["mechanism"]?["type"] == (isRequest ? "quit-request" : "signalhandler"))
    let crashed = value["threads"]?["values"]?.elements.filter { $0["crashed"] == true }.count
    #expect(crashed == (isRequest ? 0 : 1))
  }

  /// The versions of Swift and of the C compiler differ, and the process is older than its handler.
  @Test func versionAndAgesHaveTheirOwnNames() throws {
    let event = event {
      // Ticks are in steps of 10 ms, the other times in nanoseconds.
      $0.process.startTicks = 100
      ($0.process.launchUptime, $0.process.crashUptime) = (5_100_000_000, 7_259_000_000)
      $0.process.crashTime = 1_700_000_100_000_000_000
      $0.process.launchTime = 1_700_000_097_841_000_000
    }
    let contexts = try #require(event.value(SentryCuts())["contexts"])
    #expect(contexts["runtime"]?["name"] == "Swift" && contexts["runtime"]?["version"] == "6.3")
    #expect(contexts["app"]?["uptime_seconds"] == .unsigned(6))
    #expect(contexts["process"]?["handler_uptime_seconds"] == .unsigned(2))
    #expect(contexts["app"]?["app_start_time"] == "2023-11-14T22:14:53.750000Z")
    #expect(contexts["process"]?["handler_start_time"] == "2023-11-14T22:14:57.841000Z")
  }

  @Test func whatOthersParserReads() throws {
    let hostile = "\"\\\u{0}\n\u{1F}é🙂\u{2028}"
    let event = event(fields: [hostile: hostile, "release": "x"]) {
      $0.exception?.fatalMessage = hostile
      $0.process.product = hostile
    }
    let object = try JSONSerialization.jsonObject(with: Data(event.json))
    let members = try #require(object as? [String: Any])
    let tags = try #require(members["tags"] as? [String: String])
    #expect(tags["release"] == nil, "a member of the protocol, which is no tag")
    #expect(tags.values.allSatisfy { !$0.contains("\n") && !$0.contains("\0") })
    #expect((members["release"] as? String)?.contains("\n") == false)
  }

  @Test func hangsAndEndsAreKindsOfTheirOwn() throws {
    let hang = event {
      var request = DumpRequest()
      request.kind = .hang
      $0.request = request
    }.value(SentryCuts())
    #expect(hang["level"] == "error")
    let first = try #require(hang["exception"]?["values"]?.elements.last)
    #expect(first["type"] == "Hang" && first["mechanism"]?["type"] == "hang")
    #expect(hang["threads"]?["values"]?.elements.first?["crashed"] == false)
    let end = event {
      var end = RunEnd()
      (end.kind, end.certainty, end.signal) = (.outOfMemory, .certain, 9)
      ($0.end, $0.exception, $0.threads) = (end, nil, [])
    }.value(SentryCuts())
    let last = try #require(end["exception"]?["values"]?.elements.last)
    #expect(end["level"] == "fatal" && last["type"] == "RunEnd.out-of-memory")
    #expect(last["mechanism"]?["type"] == "run-end" && last["stacktrace"] == nil)
    #expect(end["fingerprint"] == ["end | out-of-memory"])
    // The kind is of a later version.
    let unknown = event { ($0.end, $0.exception, $0.threads) = (RunEnd(), nil, []) }
      .value(SentryCuts())
    let other = unknown["exception"]?["values"]?.elements.last
    #expect(other?["type"] == "RunEnd.unknown" && unknown["fingerprint"] == ["end | unknown"])
  }

  /// A receiver replaces an old or future `timestamp`.
  @Test func theTimesHaveNamesOfTheirOwn() throws {
    func clock(step: Int64) throws -> SentryValue {
      let value = event {
        let process = $0.process
        $0.process.launchTime = process.crashTime.map {
          $0 - Int64(process.uptime ?? 0) - step * 1_000_000_000
        }
      }.value(SentryCuts())
      return try #require(value["contexts"]?["clock"])
    }
    let exact = try clock(step: 0)
    #expect(exact["crash_time"] == "2023-11-14T22:26:17.987654Z")
    #expect(exact["machine_uptime_seconds"] != nil && exact["clock_set_by_seconds"] == nil)
    #expect(try clock(step: 3600)["clock_set_by_seconds"] == "3600")
    #expect(try clock(step: -86_400)["clock_set_by_seconds"] == "-86400")
  }

  @Test func theRequestsValuesAreTags() throws {
    var snapshot = SyntheticProcess.snapshot()
    let crashed = try #require(snapshot.exception?.threadID)
    snapshot.client.contexts = [
      .init(threadID: crashed, name: "request", value: "outer"),
      .init(threadID: crashed, name: "request", value: "r-17"),
      .init(threadID: crashed &+ 1, name: "tenant", value: "another thread's"),
    ]
    let tags = event { $0 = snapshot }.value(SentryCuts())["tags"]
    #expect(tags?["context.request"] == "r-17" && tags?["context.tenant"] == nil)
  }

  @Test func theFieldsOfAReviewAreTheTags() {
    var event = event(fields: ["secret": "s", "ver": "1"])
    event.fields = ["ver": "2", "signal": "mine"]
    let tags = event.value(SentryCuts())["tags"]
    #expect(tags?["secret"] == nil && tags?["ver"] == "2")
    #expect(tags?["signal"] == "SIGSEGV" && tags?["annotation.signal"] == "mine")
  }

  @Test func debugIDsOfShortBuildIDs() {
    #expect(SentryFrames.debugID([]) == nil)
    #expect(SentryFrames.debugID([1, 2, 3]) == "00030201-0000-0000-0000-000000000000")
  }
}

extension SentryValue {
  /// The first member with a name; nil if there is none, or if the value is not an object.
  subscript(name: String) -> SentryValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The elements of an array; empty for any other value.
  var elements: [SentryValue] { if case .array(let elements) = self { elements } else { [] } }

  var string: String? { if case .text(let text) = self { text } else { nil } }
}
