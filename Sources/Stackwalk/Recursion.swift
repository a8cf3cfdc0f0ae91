internal import ProcessSnapshot

/// A part of a stack in which a few functions call each other in the same order again and again.
public struct Recursion: Sendable, Equatable {
  /// The number of frames in one round of the recursion; 1 for a function that calls itself.
  public var period: Int
  /// The number of frames between the top of the stack and the recursion, without inlined calls.
  public var first: Int
  /// The number of the recursion's frames that the walk found; frames in a part of the stack that the dump left out are
  /// not counted.
  public var count: Int
  /// The estimated number of frames in a part of the stack that the dump left out.
  ///
  /// The estimate uses the mean size of the walked frames. `estimatedInGap` is nil unless the recursion continues
  /// after such a part.
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
/// The finder follows one period (the number of frames in a round) at a time. If a frame does not continue the current
/// recursion, the finder looks for a new period. Each distance of at most `longestPeriod` to an earlier frame of the
/// same function is tried as a period.
struct RecursionFinder {
  static let longestPeriod = 32
  /// The minimum number of rounds (passes through the functions that call each other) that count as a recursion.
  private static let fewestRounds = 3
  /// The number of frames that are remembered, enough for `fewestRounds` rounds of `longestPeriod` frames.
  private static let capacity = 128

  private struct Frame {
    let function: Address
    let stackPointer: Address
  }

  private struct Run {
    let period: Int
    /// The number of frames in the run, including its first `period` frames.
    var count: Int
    /// The stack pointer of the frame after the first round.
    let startPointer: Address
    var inGap: Int?
  }

  /// The latest frames, as a ring in which frame number n is at index n modulo `capacity`.
  private var latest: [Frame] = []
  private var position = 0
  private var run: Run?
  private(set) var best: Recursion?

  /// The frame `distance` places before the one that is added next.
  private func frame(_ distance: Int) -> Frame { latest[(position - distance) % Self.capacity] }

  /// Adds the next frame; the first frame that is added must be the innermost one.
  ///
  /// - Parameters:
  ///   - function: a number that is the same for frames of the same function.
  ///   - stackPointer: the frame's stack pointer.
  ///   - isBehindGap: true if the dump left out the part of the stack between the previous frame and this one.
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

  /// Finds the period with the longest run of frames, ending with `added`, in which each frame has the same function
  /// as the frame one period earlier.
  ///
  /// If the runs of several periods are equally long, the shortest period is used.
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

  /// Continues a recursion after a gap in the stack, if the first function after the gap belongs to the recursion.
  private mutating func crossGap(to function: Address, _ stackPointer: Address) {
    guard let run, position > 0 else { return }
    let lastPointer = frame(1).stackPointer
    let period = run.period
    // The number of calls between two frames: the first frame after the run's first period (`startPointer`), and the
    // last frame before the gap (`lastPointer`).
    let frames = run.count - period - 1
    guard run.count >= period * Self.fewestRounds, frames > 0,
      let bytes = lastPointer.distance(above: run.startPointer), bytes > 0,
      let gap = stackPointer.distance(above: lastPointer), gap > 0,
      let turn = (1...period).first(where: { frame($0).function == function })
    else { return }
    // The frames in the gap are assumed to have the same mean size as the walked frames. The product has 128 bits, so
    // it cannot overflow. A quotient of more than 64 bits cannot be a number of frames.
    let product = gap.multipliedFullWidth(by: UInt64(frames))
    guard product.high < bytes else { return }
    let (quotient, remainder) = bytes.dividingFullWidth(product)
    let (count, overflow) = quotient.addingReportingOverflow(
      remainder >= bytes &- remainder ? 1 : 0)
    guard !overflow else { return }
    self.run?.inGap = Int(clamping: max(1, count) &- 1)
    // Rotates the frames of the last round, so that `function` is the next function of the recursion.
    let round = (1...period).map(frame)
    let turned = Array(round[turn...]) + round[..<turn]
    for (index, frame) in turned.enumerated() {
      latest[(position - 1 - index) % Self.capacity] = frame
    }
  }
}
