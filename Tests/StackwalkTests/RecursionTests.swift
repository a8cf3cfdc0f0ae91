import ProcessSnapshot
import Testing

@testable import Stackwalk

@Suite struct RecursionTests {
  private func find(
    _ functions: [UInt64], frameSize: UInt64 = 0x20, gap: (at: Int, bytes: UInt64)? = nil
  ) -> Recursion? {
    var finder = RecursionFinder()
    var pointer: UInt64 = 0x7000_0000
    for (index, function) in functions.enumerated() {
      if index == gap?.at { pointer += gap?.bytes ?? 0 }
      finder.add(
        function: Address(function), stackPointer: Address(pointer), isBehindGap: index == gap?.at)
      pointer += frameSize
    }
    return finder.best
  }

  @Test func findsAFunctionThatCallsItself() {
    let functions = [1, 2] + [UInt64](repeating: 3, count: 1_000) + [4, 5]
    #expect(find(functions) == Recursion(period: 1, first: 2, count: 1_000))
  }

  @Test(arguments: 2...32)
  func findsFunctionsThatCallEachOther(_ period: Int) {
    let round = (0..<UInt64(period)).map { 10 + $0 }
    let functions: [UInt64] = [1, 2] + [[UInt64]](repeating: round, count: 50).joined() + [5]
    #expect(find(functions) == Recursion(period: period, first: 2, count: 50 * period))
  }

  /// Functions of Codable occur several times in a round of the recursion.
  @Test(
    arguments: [
      [1, 2, 1, 3], [1, 1, 2], [1, 2, 2, 1, 3, 2, 1, 1], [5, 6, 5, 6, 5, 6, 7],
      [1, 2, 3, 4, 1, 2, 3, 4, 5], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2],
    ] as [[UInt64]])
  func findsRoundsThatHaveAFunctionTwice(_ round: [UInt64]) {
    let functions: [UInt64] = [90, 91] + [[UInt64]](repeating: round, count: 40).joined() + [92]
    #expect(find(functions) == Recursion(period: round.count, first: 2, count: 40 * round.count))
  }

  @Test func noPeriodBeyondTheLongest() {
    let round = (0..<33 as Range<UInt64>).map { 10 + $0 }
    #expect(find([[UInt64]](repeating: round, count: 50).flatMap(\.self)) == nil)
  }

  /// For recursions of few functions, the result is the same as trying each period at each frame.
  @Test func comparesAsTryingEachDoes() {
    var state: UInt64 = 42
    func random(_ count: Int, of functions: UInt64) -> [UInt64] {
      (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % functions
      }
    }
    for trial in 0..<200 {
      let round = random(1 + trial % 32, of: 3)
      let functions =
        random(20, of: 4) + [[UInt64]](repeating: round, count: 12).joined() + random(20, of: 4)
      #expect(find(functions)?.count == longest(functions), "\(round)")
    }
  }

  /// The length of the longest recursion, found by trying each period.
  private func longest(_ functions: [UInt64]) -> Int {
    var longest = 0
    for period in 1...32 {
      var count = period
      for index in functions.indices.dropFirst(period) {
        count = functions[index] == functions[index - period] ? count + 1 : period
        if count >= 3 * period { longest = max(longest, count) }
      }
    }
    return longest
  }

  @Test func keepsTheLongest() {
    let functions =
      [UInt64](repeating: 1, count: 10) + [2] + [UInt64](repeating: 3, count: 20)
      + [UInt64](repeating: 4, count: 15)
    #expect(find(functions) == Recursion(period: 1, first: 11, count: 20))
  }

  @Test(
    arguments: [[], [1], [1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 3, 3], [1, 2, 1, 2, 3]] as [[UInt64]])
  func findsNone(_ functions: [UInt64]) {
    #expect(find(functions) == nil)
  }

  @Test func estimatesWhatAGapHides() {
    let functions = [1] + [UInt64](repeating: 2, count: 200) + [3]
    // The gap has room for 1,000 frames of 32 bytes.
    let recursion = find(functions, gap: (at: 101, bytes: 32_000))
    #expect(recursion == Recursion(period: 1, first: 1, count: 200, estimatedInGap: 1_000))
  }

  @Test(arguments: 0..<3)
  func goesOnAtAnyFunctionBehindAGap(_ skipped: Int) {
    let rounds = [UInt64]([[UInt64]](repeating: [7, 8, 9], count: 30).joined())
    let functions = Array(rounds[..<45] + rounds[(45 + skipped)...])
    let recursion = find(functions, gap: (at: 45, bytes: UInt64(300 + skipped) * 0x20))
    #expect(recursion?.period == 3)
    #expect(recursion?.first == 0)
    #expect(recursion?.count == functions.count)
    #expect(recursion?.estimatedInGap == 300 + skipped)
  }

  @Test func endsWhereAnotherFunctionComesBehindAGap() {
    let functions = [UInt64](repeating: 2, count: 50) + [UInt64](repeating: 3, count: 20)
    let recursion = find(functions, gap: (at: 50, bytes: 32_000))
    #expect(recursion == Recursion(period: 1, first: 0, count: 50))
  }
}
