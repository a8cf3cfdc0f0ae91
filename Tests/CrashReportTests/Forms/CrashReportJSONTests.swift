import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct CrashReportJSONTests {
  private var snapshot: ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.reportID = ReportID("00112233-4455-4677-8899-aabbccddeeff")
    snapshot.process.processID = 12
    snapshot.process.crashTime = 1_763_736_545_123_456_789
    snapshot.launchAnnotations = ["b": "\"quoted\"\n", "a": ""]
    var exception = ExceptionSnapshot(threadID: 13)
    exception.signal = 11
    exception.code = 1
    exception.address = .highest
    snapshot.exception = exception
    var thread = ThreadSnapshot(id: 13)
    thread.name = "worker \u{1B}[31m"
    var context = X86_64Context()
    context.rip = 0x1234
    context.rsp = 0x7FFF_0000_0000
    thread.context = .x86_64(context)
    thread.captureMethod = .crashed
    var other = ThreadSnapshot(id: 12)
    other.captureMethod = ThreadSnapshot.CaptureMethod.none
    // The crashing thread is first in the report, although it is not first in the dump.
    snapshot.threads = [other, thread]
    snapshot.modules = [
      ModuleSnapshot(address: 0x1000, size: 0x1000, path: "/none/app", buildID: [0, 0xAB])
    ]
    return snapshot
  }

  @Test func hasEveryKeyAndNullForWhatIsNotKnown() throws {
    let object = try CrashReport(snapshot: snapshot, symbolicating: false).jsonObject
    #expect(
      object.keys.sorted() == [
        "allTasks", "annotations", "capture", "cause", "client", "complete", "end", "exception",
        "explanation",
        "mappings", "mappingsOmitted", "memory", "message", "modules", "otherMessages",
        "place",
        "privacy", "process", "reportID", "request", "resources", "schemaVersion", "signature",
        "standstill", "survival",
        "symbolHint", "system", "threads", "thrown", "unknownTaskLayout", "waits",
        "words",
      ])
    #expect(object["schemaVersion"] as? Int == 1)
    #expect(object["message"] is NSNull)
    #expect(object["complete"] as? Bool == false)
    let exception = try #require(object["exception"] as? [String: Any])
    #expect(exception["address"] as? String == "0xffffffffffffffff")
    #expect(exception["signalName"] as? String == "SIGSEGV")
    #expect(exception["codeName"] as? String == "SEGV_MAPERR")
    #expect(exception["sender"] is NSNull)
    let process = try #require(object["process"] as? [String: Any])
    #expect(
      process.keys.sorted() == [
        "ageNanoseconds", "arguments", "crashTime", "effectiveGroupID", "effectiveUserID",
        "environment", "executable", "groupID", "launchTime", "parent", "pid", "product",
        "uptimeNanoseconds", "userID", "version", "workingDirectory",
      ])
    #expect(process["parent"] is NSNull)
    #expect(process["crashTime"] as? String == "2025-11-21T14:49:05.123456789Z")
    let threads = try #require(object["threads"] as? [[String: Any]])
    #expect(threads.map { $0["id"] as? Int } == [13, 12])
    #expect(threads[0]["crashed"] as? Bool == true)
    #expect((threads[0]["registers"] as? [String: String])?["rip"] == "0x1234")
    #expect(threads[1]["name"] is NSNull)
    let frames = try #require(threads[0]["frames"] as? [[String: Any]])
    #expect(
      frames[0].keys.sorted() == [
        "address", "column", "file", "function", "functionOffset", "inlined", "line",
        "lineApproximate", "module", "moduleOffset", "own", "storedAtConversion", "symbol", "trust",
      ])
    #expect(frames[0]["module"] as? String == "app")
    #expect(frames[0]["moduleOffset"] as? String == "0x234")
    #expect(frames[0]["function"] is NSNull)
    #expect(frames[0]["trust"] as? String == "context")
    let modules = try #require(object["modules"] as? [[String: Any]])
    #expect(modules[0]["buildID"] as? String == "00ab")
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000000000Z"),
    (-1, "1969-12-31T23:59:59.999999999Z"),
    (951_827_696_000_000_001, "2000-02-29T12:34:56.000000001Z"),
    (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
    (Int64.max, "2262-04-11T23:47:16.854775807Z"),
    (Int64.min, "1677-09-21T00:12:43.145224192Z"),
  ])
  func timesAreISO8601(nanoseconds: Int64, text: String) {
    #expect(Timestamp(nanoseconds: nanoseconds).description == text)
  }

  @Test(arguments: [
    "", "2025-11-21T14:49:05Z", "2025-13-01T00:00:00.000000000Z", "2025-02-29T00:00:00.000000000Z",
    "9999-01-01T00:00:00.000000000Z", "2025-11-21 14:49:05.123456789Z",
    "2025-11-21T24:00:00.000000000Z", "２025-1-21T00:00:00.000000000Z",
  ])
  func refusesOtherTimes(_ text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test func textEscapesWhatTheDumpBringsAlong() {
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains("Thread 13 \"worker \\u{1b}[31m\" crashed:"))
    #expect(text.contains("SIGSEGV (11), SEGV_MAPERR"))
    #expect(text.contains("b = \"quoted\"\\n"))
    #expect(TextReport.text(of: report, color: true).contains("\u{1B}[1m"))
  }

  @Test func signatureNamesOnlyTheProgramsOwnFunctions() {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = [
      ModuleSnapshot(address: 0, size: 1, path: "/usr/lib/libc.so.6"),
      ModuleSnapshot(address: 1, size: 1, path: "/srv/app"),
    ]
    let frames = [
      StackFrame("abort"), StackFrame("Swift._assertionFailure(Swift.String) -> ()", module: 1),
      StackFrame("closure #1 () -> () in App.run(n: Swift.Int) -> ()", module: 1),
      StackFrame(nil, module: 1), StackFrame("App.start() -> ()", module: 1),
      StackFrame("App.start() -> ()", module: 1),
      StackFrame("reabstraction thunk helper from @escaping () -> ()", module: 1),
      StackFrame("static App.main() -> ()", module: 1), StackFrame("main", module: 1),
    ]
    #expect(Signature.text(of: snapshot, trace: StackTrace(frames), nil) == nil)
    snapshot.exception = ExceptionSnapshot(threadID: 1)
    snapshot.exception?.signal = 6
    #expect(
      Signature.text(of: snapshot, trace: StackTrace(frames), nil)
        == "SIGABRT | App.run(n:) | App.start()")
    let nameless = StackTrace([StackFrame(nil, module: 1)])
    #expect(Signature.text(of: snapshot, trace: nameless, nil) == "SIGABRT | app+0xfff")
  }
}
