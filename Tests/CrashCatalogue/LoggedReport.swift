package import CrashAnalysis
package import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

/// The dumps in what a crashed process printed, and their reports compared with those of the files.
package enum LoggedReport {
  package struct StrayPieces: Error {
    package let dumps: Int
    package let pieces: Int
  }

  /// - Throws: `StrayPieces` if some pieces are not of a dump all of whose pieces are there.
  package static func dumps(in log: String) throws(StrayPieces) -> [LoggedDump] {
    var reader = LoggedDumpReader()
    reader.take(Array(log.utf8))
    let whole = reader.takeFinished()
    let (rest, strayCount) = reader.finish()
    guard rest.isEmpty, strayCount == 0 else {
      throw StrayPieces(dumps: rest.count, pieces: strayCount)
    }
    return whole
  }

  package static func snapshots(in log: String) throws -> [ProcessSnapshot] {
    try dumps(in: log).map {
      ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: $0.bytes))
    }
  }

  /// The number of innermost frames that a log has room for; fewer if a condition adds modules and candidates.
  private static let keptFrames = (alone: 60, underConditions: 32)

  /// A message that is not longer than this many bytes is whole in a log, which has the first 480 of its text.
  private static let leastCutMessage = 400

  /// Where the report from the log is not the report from the dump, as far as the log goes; empty if they are equal.
  ///
  /// - Parameter isUnderCondition: true if the log may lack parts of the stack and of long messages.
  package static func differences(
    _ logged: CrashReport, _ dumped: CrashReport, isUnderCondition: Bool
  ) -> [String] {
    let keptFrames = isUnderCondition ? keptFrames.underConditions : keptFrames.alone
    var differences: [String] = []
    func compare<Value: Equatable>(_ name: String, _ logged: Value, _ dumped: Value) {
      if logged != dumped { differences.append("\(name) in the log: \(logged), not \(dumped)") }
    }
    let (ours, theirs) = (frames(logged), frames(dumped))
    // If the log has several messages, only words of the stack that it has not may show which one is the thread's.
    if !isUnderCondition || logged.message != nil
      || !logged.otherMessages.contains(where: { $0 == dumped.message })
    {
      compare("cause", logged.cause?.kind, dumped.cause?.kind)
      compare("certainty", logged.cause?.certainty, dumped.cause?.certainty)
      let isCut =
        isUnderCondition && (logged.message?.utf8.count ?? 0) > leastCutMessage
        && (dumped.message ?? "").hasPrefix(logged.message ?? "")
      if !isCut { compare("message", logged.message, dumped.message) }
    }
    compare("place", logged.place, dumped.place)
    // A signature may name a function that only the longer of two stacks has, or the first one behind a gap, and log and
    // dump keep different numbers of outermost frames.
    let isPart =
      ours.count < theirs.count
      && (dumped.signature ?? "").hasPrefix(logged.signature ?? "no signature")
    let before = parts(dumped.signature).dropLast()
    // The signal and the function that crashed are never behind a gap.
    let isGapBefore =
      hasGap(dumped) && before.count >= 2 && parts(logged.signature).dropLast() == before
    if !isUnderCondition || !isPart && !isGapBefore {
      compare("signature", logged.signature, dumped.signature)
    }
    for (index, (our, their)) in zip(ours, theirs).enumerated() {
      // Without the unwind table of a module whose file is gone, which only the dump has, the caller is marked as a
      // guess, and frames below it may be missing.
      if isUnderCondition, our.trust == .scan, their.trust != .scan { return differences }
      guard text(our) == text(their) else {
        compare("frame \(index)", text(our), text(their))
        return differences
      }
    }
    if ours.count < min(theirs.count, keptFrames)
      || ours.count > theirs.count && theirs.count < keptFrames
    {
      differences.append("\(ours.count) frames in the log, \(theirs.count) in the dump")
    }
    return differences
  }

  private static func parts(_ signature: String?) -> [Substring] {
    (signature ?? "no signature").split(separator: " | ")
  }

  private static func hasGap(_ report: CrashReport) -> Bool {
    (report.threads.first?.trace.omittedCount ?? 0) > 0
  }

  /// Of a deep stack, the log and the dump have different parts: the innermost frames without a gap.
  private static func frames(_ report: CrashReport) -> ArraySlice<StackFrame> {
    guard let trace = report.threads.first?.trace else { return [] }
    let frames =
      trace.omittedCount > 0 ? trace.frames.prefix(trace.omittedAfter) : trace.frames[...]
    return frames.prefix { $0.trust != .afterGap }
  }

  private static func text(_ frame: StackFrame) -> String {
    let location = frame.sourceLocation.map { "\($0)" } ?? "no line"
    return
      "\(frame.address) \(frame.symbol?.linkageName ?? "no name") \(location)"
      + (frame.isInlined ? ", inlined" : "")
  }
}
