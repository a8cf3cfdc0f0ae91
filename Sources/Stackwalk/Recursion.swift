internal import ProcessSnapshot

/// A part of a stack in which the same few functions call each other in turn.
public struct Recursion: Sendable, Equatable {
  /// The number of functions that call each other in turn; 1 for a function that calls itself.
  public var period: Int
  /// The number of frames farther in, without inlined calls.
  public var first: Int
  /// The number of walked frames of the recursion.
  public var count: Int
  /// The estimated number of frames in a part of the stack that the dump left out, from their mean size; nil unless
  /// the recursion continues beyond such a part.
  public var estimatedInGap: Int?

  public init(period: Int, first: Int, count: Int, estimatedInGap: Int? = nil) {
    self.period = period
    self.first = first
    self.count = count
    self.estimatedInGap = estimatedInGap
  }
}

/// Finds the longest recursion among frames that are added one by one, in constant memory.
///
/// Follows one period at a time. If a frame does not continue the recursion, the frames before it are compared with
/// themselves, shifted by each distance at which the same function occurs.
struct RecursionFinder {
  static let longestPeriod = 32
  /// The minimum number of rounds that count as a recursion.
  private static let fewestRounds = 3
  /// The number of frames that are remembered: enough for the fewest rounds of the longest period.
  private static let capacity = 128

  private struct Frame {
    let function: Address
    let stackPointer: Address
  }

  private struct Run {
    let period: Int
    /// The number of frames, including the first round.
    var count: Int
    /// The stack pointer of the frame after the first round.
    let startPointer: Address
    var inGap: Int?
  }

  /// A ring in which frame number n is at index n modulo `capacity`.
  private var latest: [Frame] = []
  private var position = 0
  private var run: Run?
  private(set) var best: Recursion?

  /// The frame this many places before the next one.
  private func frame(_ distance: Int) -> Frame { latest[(position - distance) % Self.capacity] }

  /// Adds the next frame, innermost first.
  ///
  /// - Parameters:
  ///   - function: a number that is the same for frames of the same function.
  ///   - stackPointer: the frame's.
  ///   - isBehindGap: whether the dump left out the stack before it.
  mutating func add(function: Address, stackPointer: Address, isBehindGap: Bool) {
    if isBehindGap { crossGap(to: function, stackPointer) }
    let added = Frame(function: function, stackPointer: stackPointer)
    if let period = run?.period, frame(period).function == function {
      run?.count += 1
    } else {
      run = longestRun(endingIn: added)
    }
    if latest.count < Self.capacity {
      latest.append(added)
    } else {
      latest[position % Self.capacity] = added
    }
    position += 1
    guard let run, run.count >= run.period * Self.fewestRounds, run.count > best?.count ?? 0 else {
      return
    }
    best = Recursion(
      period: run.period, first: position - run.count, count: run.count,
      estimatedInGap: run.inGap)
  }

  /// The period with which most of the latest frames repeat the frames before them, and the length of that run; the
  /// shortest period if several are equal.
  private func longestRun(endingIn added: Frame) -> Run? {
    var longest: Run?
    var most = 0
    var period = 1
    while period <= min(Self.longestPeriod, position) {
      defer { period += 1 }
      guard frame(period).function == added.function else { continue }
      var repeated = 1
      var start = added.stackPointer
      while repeated + period <= min(position, Self.capacity),
        frame(repeated).function == frame(repeated + period).function
      {
        start = frame(repeated).stackPointer
        repeated += 1
      }
      guard repeated > most else { continue }
      most = repeated
      longest = Run(period: period, count: repeated + period, startPointer: start)
    }
    return longest
  }

  /// Continues a recursion after a gap, at the first of its functions there.
  private mutating func crossGap(to function: Address, _ stackPointer: Address) {
    guard let run, position > 0 else { return }
    let lastPointer = frame(1).stackPointer
    let period = run.period
    // The start pointer is that of the frame after the first round.
    let frames = run.count - period - 1
    guard run.count >= period * Self.fewestRounds, frames > 0,
      let bytes = lastPointer.distance(above: run.startPointer), bytes > 0,
      let gap = stackPointer.distance(above: lastPointer), gap > 0,
      let turn = (1...period).first(where: { frame($0).function == function })
    else { return }
    // The frames in the gap are assumed to have the same mean size. The product has 128 bits, so that no size
    // overflows; a quotient of more than 64 bits is no count.
    let product = gap.multipliedFullWidth(by: UInt64(frames))
    guard product.high < bytes else { return }
    let (quotient, remainder) = bytes.dividingFullWidth(product)
    let (count, overflow) = quotient.addingReportingOverflow(
      remainder >= bytes &- remainder ? 1 : 0)
    guard !overflow else { return }
    self.run?.inGap = Int(clamping: max(1, count) &- 1)
    // Reorders the frames of the last round to the order that begins with this function.
    let round = (1...period).map(frame)
    let turned = Array(round[turn...]) + round[..<turn]
    for (index, frame) in turned.enumerated() {
      latest[(position - 1 - index) % Self.capacity] = frame
    }
  }
}
