/// The frames of a recursion that the text report shows as one line.
struct FoldedRecursion {
  /// Rounds that are shown before and behind the line.
  private static let shownRounds = 2
  /// Fewer frames than this are not worth a line.
  private static let fewestFrames = 6

  /// Counted from the innermost frame, inlined calls not counted.
  let range: Range<Int>
  /// Raw, as the words of a section.
  let text: String

  /// Nil where nothing is to be folded.
  init?(_ thread: CrashReport.Thread) {
    // JSON may say anything: only numbers that fit each other are used.
    guard let recursion = thread.recursion, recursion.period > 0, recursion.period <= 64,
      recursion.first >= 0, recursion.count > 0, recursion.count <= Int.max - recursion.first,
      thread.framesOmitted >= 0, thread.framesOmitted <= Int.max - thread.frames.count
    else { return nil }
    let frames = thread.frames.enumerated().filter { $0.element.inlined != true }
    let listedBefore =
      thread.framesOmitted > 0
      ? frames.count { $0.offset < thread.framesOmittedAfter } : frames.count
    let margin = recursion.period * Self.shownRounds
    let end = recursion.first + recursion.count - margin
    guard recursion.first <= listedBefore - recursion.period, recursion.first + margin < end else {
      return nil
    }
    var range = recursion.first + margin..<end
    let omitted = listedBefore..<listedBefore + thread.framesOmitted
    let coversOmitted = range.contains(omitted.lowerBound) && range.upperBound >= omitted.upperBound
    if thread.framesOmitted > 0, !coversOmitted, range.overlaps(omitted) {
      // The omitted frames have a line of their own; only what is listed on the recursion's side
      // of it is folded.
      if range.lowerBound < omitted.lowerBound {
        range = range.lowerBound..<omitted.lowerBound
      } else {
        range = min(omitted.upperBound, range.upperBound)..<range.upperBound
      }
    }
    guard range.count >= Self.fewestFrames else { return nil }
    let names = frames[recursion.first..<recursion.first + recursion.period].map { frame in
      frame.element.function.map(FunctionName.short) ?? frame.element.address.description
    }
    self.range = range
    let estimated = max(0, recursion.estimatedInGap ?? 0)
    let (sum, isTooMany) = range.count.addingReportingOverflow(estimated)
    let count = Self.grouped(isTooMany ? .max : sum)
    let turn = names.count > 1 ? " in turn" : ""
    let start = "... " + (estimated > 0 ? "about \(count)" : count) + " more of "
    let gap =
      estimated > 0
      ? ", some \(Self.grouped(estimated)) of them in a part of the stack that is not in the dump"
      : ""
    text = start + names.joined(separator: ", ") + turn + gap + " ..."
  }

  /// With a comma after every three digits.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number))
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result += "," }
      result.append(digit)
    }
    return result
  }
}
