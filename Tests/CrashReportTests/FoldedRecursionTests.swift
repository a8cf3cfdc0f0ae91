import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct FoldedRecursionTests {
  private func frame(_ function: String, inlined: Bool = false) -> StackFrame {
    StackFrame(function, inlined: inlined)
  }

  private func trace(
    _ frames: [StackFrame], omitted: Int = 0, after: Int = 0, gap: Bool = false,
    _ recursion: Recursion?
  ) -> StackTrace {
    var trace = StackTrace(frames, recursion: recursion)
    (trace.omittedCount, trace.omittedAfter, trace.hasGap) = (omitted, after, gap)
    return trace
  }

  private func recursion(_ period: Int, _ first: Int, _ count: Int, _ gap: Int? = nil) -> Recursion
  {
    Recursion(period: period, first: first, count: count, estimatedInGap: gap)
  }

  @Test func foldsWhatIsListed() throws {
    let frames =
      [frame("leaf")] + [StackFrame](repeating: frame("f"), count: 50) + [frame("main")]
    let folded = try #require(FoldedRecursion(trace(frames, recursion(1, 1, 50))))
    #expect(folded.range == 3..<49)
    #expect(folded.text == "... 46 more of f ...")
  }

  @Test func countsWhatIsOmitted() throws {
    let frames =
      [frame("leaf")] + [StackFrame](repeating: frame("f"), count: 255) + [frame("main")]
    let whole = trace(frames, omitted: 174_000, after: 200, recursion(1, 1, 174_255))
    let folded = try #require(FoldedRecursion(whole))
    #expect(folded.range == 3..<174_254)
    #expect(folded.text == "... 174,251 more of f ...")
  }

  @Test func namesFunctionsThatTakeTurns() throws {
    let frames = (0..<60).map { frame($0 % 2 == 0 ? "even" : "odd") } + [frame("main")]
    let folded = try #require(FoldedRecursion(trace(frames, recursion(2, 0, 60))))
    #expect(folded.range == 4..<56)
    #expect(folded.text == "... 52 more of even, odd in turn ...")
  }

  @Test func marksAnEstimate() throws {
    let frames = [StackFrame](repeating: frame("f"), count: 100)
    let folded = try #require(
      FoldedRecursion(trace(frames, gap: true, recursion(1, 0, 100, 5_000))))
    #expect(
      folded.text
        == "... about 5,096 more of f, some 5,000 of them in a part of the stack that is not in the dump ..."
    )
  }

  /// If a recursion ends among the omitted frames, these keep their own line.
  @Test func foldsOnlyItsSideOfTheOmittedFrames() throws {
    let frames = [StackFrame](repeating: frame("f"), count: 200) + [frame("main")]
    let folded = try #require(
      FoldedRecursion(trace(frames, omitted: 500, after: 200, recursion(1, 0, 400))))
    #expect(folded.range == 2..<200)
    #expect(folded.text == "... 198 more of f ...")
  }

  @Test func doesNotCountInlinedCalls() throws {
    let frames = (0..<40).flatMap { _ in [frame("inlined", inlined: true), frame("f")] }
    let folded = try #require(FoldedRecursion(trace(frames, recursion(1, 0, 40))))
    #expect(folded.range == 2..<38)
    #expect(folded.text == "... 36 more of f ...")
  }

  @Test(
    arguments: [
      nil, (1, 0, 8), (0, 0, 100), (1, 99, 100), (Int.max, 0, 100),
    ] as [(Int, Int, Int)?])
  func foldsNothing(_ numbers: (Int, Int, Int)?) {
    let frames = [StackFrame](repeating: frame("f"), count: 8)
    let given = numbers.map { recursion($0.0, $0.1, $0.2) }
    #expect(FoldedRecursion(trace(frames, given)) == nil)
  }

  @Test func groupsDigits() {
    #expect(
      [0, 999, 1_000, 174_202, 1_234_567].map(Quantity.grouped)
        == ["0", "999", "1,000", "174,202", "1,234,567"])
  }
}
