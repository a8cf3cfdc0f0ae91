import IntermediateDump
import ProcessSnapshot
import Testing

/// The facts in a dump about what happened to the process after the crash.
@Suite struct SurvivalTests {
  private func survival(_ fill: (inout DumpTokens) -> Void) throws -> Survival? {
    var dump = DumpTokens()
    dump.map(.survival, fill)
    dump.end()
    return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes)).survival
  }

  @Test func readsTheMap() throws {
    let snapshot = ProcessSnapshot(
      reading: try IntermediateDumpDocument(parsing: HandlerDump.bytes()))
    let survival = try #require(snapshot.survival)
    #expect(survival.outcome == .wentOn)
    #expect(survival.previousHandler == 0x40_0456)
    #expect(survival.survivedCrashes == 3)
    #expect(survival.precedingReport == ReportID(bytes: [UInt8](1...16)))
  }

  @Test func takesNoWordForWhatItDoesNotKnow() throws {
    let outcomes: [(UInt64, Survival.Outcome?)] = [
      (0, nil), (1, .previousHandlerRan), (2, .wentOn), (3, .discarded),
      (4, .endedByHandler), (5, nil), (255, nil),
    ]
    for (code, outcome) in outcomes {
      #expect(try survival { $0.unsigned(.survivalOutcome, code, 1) }?.outcome == outcome)
    }
    let short = try survival { $0.property(.precedingReport, [1, 2, 3]) }
    #expect(short == Survival())
    var dump = DumpTokens()
    dump.end()
    let none = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    #expect(none.survival == nil)
  }
}
