import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The text of a report on a crash that the process survived.
@Suite struct SurvivalTests {
  private func report(
    _ outcome: Survival.Outcome?, handler: UInt64? = nil, module: String = "/opt/lib.so",
    crashes: UInt32? = nil, isBacktracer: Bool = false
  ) -> CrashReport {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = [ModuleSnapshot(address: 0x1000, size: 0x1000, path: module)]
    var survival = Survival()
    survival.outcome = outcome
    survival.previousHandler = handler.map { Address($0) }
    survival.previousHandlerIsBacktracer = isBacktracer
    survival.survivedCrashes = crashes
    survival.precedingReport = crashes.flatMap { _ in ReportID(bytes: [UInt8](1...16)) }
    snapshot.survival = survival
    return CrashReport(snapshot: snapshot, symbolicating: false)
  }

  private func field(_ name: String, of report: CrashReport) -> String? {
    let line = TextReport.text(of: report).split(separator: "\n").first { $0.hasPrefix(name + " ") }
    return line.map { String($0.dropFirst(name.count).drop { $0 == " " }) }
  }

  @Test func saysWhatIsKnown() {
    #expect(
      field("Outcome", of: report(.wentOn, handler: 0x1234))
        == "previous handler in lib.so handled it; the process continued")
    #expect(
      field("Outcome", of: report(.previousHandlerRan, handler: 0x9999))
        == "may have survived: a previous handler ran after the dump")
    #expect(
      field("Outcome", of: report(.previousHandlerRan))
        == "may have survived: a handler installed later called this package's handler, and continued"
    )
    #expect(
      field("Outcome", of: report(nil, handler: 0x1234))
        == "Swift's backtracer ran after the dump")
    #expect(
      field("Outcome", of: report(.previousHandlerRan, handler: 0x1234, isBacktracer: true))
        == "Swift's backtracer ran after the dump")
    #expect(
      field("Outcome", of: report(.wentOn, handler: 0x1234, isBacktracer: true))
        == "Swift's backtracer handled it; the process continued")
    #expect(
      field("Outcome", of: report(.discarded))
        == "the kernel discarded the signal; the process continued")
    let swift = report(.previousHandlerRan, handler: 0x1234, module: "/usr/lib/libswiftCore.so")
    #expect(field("Outcome", of: swift) == "Swift's backtracer ran after the dump")
    let ended = report(nil, handler: 0x1234, module: "/usr/lib/libswiftCore.so")
    #expect(field("Outcome", of: ended) == "Swift's backtracer ran after the dump")
    #expect(field("Outcome", of: report(nil, crashes: 1)) == nil)
  }

  @Test func saysWhatCameBefore() {
    let id = "01020304-0506-0708-090a-0b0c0d0e0f10"
    #expect(
      field("Before it", of: report(nil, crashes: 2))
        == "2 crashes of this process, the last report \(id)")
    #expect(field("Before it", of: report(.wentOn)) == nil)
  }

  @Test func hasTheSameInJSON() throws {
    let report = report(.previousHandlerRan, handler: 0x1234, crashes: 1)
    let object = try report.jsonObject
    let survival = try #require(object["survival"] as? [String: Any])
    #expect(survival["outcome"] as? String == "may-have-survived")
    #expect(survival["previousHandler"] as? String == "0x1234")
    #expect(survival["previousHandlerModule"] as? String == "lib.so")
    #expect(survival["survivedCrashes"] as? Int == 1)
    #expect(survival["precedingReport"] as? String == "01020304-0506-0708-090a-0b0c0d0e0f10")
  }
}
