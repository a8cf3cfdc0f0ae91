internal import ProcessSnapshot

/// Part of a stack in which the same few functions call each other in turn.
public struct Recursion: Sendable, Equatable {
  /// Functions that take turns; 1 for a function that calls itself.
  public var period: Int
  /// Frames further in, inlined calls not counted.
  public var first: Int
  /// Frames that were walked in it.
  public var count: Int
  /// Estimated count of frames in a part of the stack that the dump left out, by their mean size;
  /// nil unless the recursion goes on beyond such a part.
  public var estimatedInGap: Int?

  public init(period: Int, first: Int, count: Int, estimatedInGap: Int? = nil) {
    self.period = period
    self.first = first
    self.count = count
    self.estimatedInGap = estimatedInGap
  }
}

/// Finds the longest recursion among frames that are added one by one, in constant memory.
struct RecursionFinder {
  static let longestPeriod = 4
  /// Fewer rounds are no recursion.
  private static let fewestRounds = 3

  private struct Run {
    var count = 0
    var startPointer: Address = 0
    var inGap: Int?
  }

  /// Functions of the latest frames, the latest first.
  private var latest: [Address] = []
  private var lastPointer: Address = 0
  private var position = 0
  /// By period, from 1.
  private var runs = [Run](repeating: Run(), count: longestPeriod)
  private(set) var best: Recursion?

  /// Adds the next frame, innermost first.
  ///
  /// - Parameters:
  ///   - function: the same for frames of the same function.
  ///   - stackPointer: the frame's.
  ///   - isBehindGap: whether the dump left out the stack before it.
  mutating func add(function: Address, stackPointer: Address, isBehindGap: Bool) {
    if isBehindGap { crossGap(to: function, stackPointer) }
    for period in 1...Self.longestPeriod {
      var run = runs[period - 1]
      if latest.count >= period, latest[period - 1] == function {
        if run.count == 0 {
          run = Run(count: period, startPointer: stackPointer)
        }
        run.count += 1
      } else {
        run = Run()
      }
      runs[period - 1] = run
      let isLonger = run.count > (best?.count ?? period * Self.fewestRounds - 1)
      if isLonger, run.count >= period * Self.fewestRounds {
        best = Recursion(
          period: period, first: position + 1 - run.count, count: run.count,
          estimatedInGap: run.inGap)
      }
    }
    latest.insert(function, at: 0)
    if latest.count > Self.longestPeriod { latest.removeLast() }
    lastPointer = stackPointer
    position += 1
  }

  /// Continues a recursion behind a gap, at whichever of its functions comes first there.
  private mutating func crossGap(to function: Address, _ stackPointer: Address) {
    for period in 1...Self.longestPeriod {
      let run = runs[period - 1]
      // The start pointer is that of the frame after the first round.
      let frames = run.count - period - 1
      guard run.count >= period * Self.fewestRounds, frames > 0,
        let bytes = lastPointer.distance(above: run.startPointer), bytes > 0,
        let gap = stackPointer.distance(above: lastPointer), gap > 0,
        let turn = latest[..<period].firstIndex(of: function)
      else { continue }
      // Assume the same mean size in the gap. The product has 128 bits, so that no size overflows;
      // a quotient of more than 64 bits is no count.
      let product = gap.multipliedFullWidth(by: UInt64(frames))
      guard product.high < bytes else { continue }
      let (quotient, remainder) = bytes.dividingFullWidth(product)
      let (count, overflow) = quotient.addingReportingOverflow(
        remainder >= bytes &- remainder ? 1 : 0)
      guard !overflow else { continue }
      runs[period - 1].inGap = Int(clamping: max(1, count) &- 1)
      // Pretend that the frame below is the one that this function calls.
      let round = Array(latest[..<period])
      latest.replaceSubrange(..<period, with: round[(turn + 1)...] + round[...turn])
      return
    }
  }
}
