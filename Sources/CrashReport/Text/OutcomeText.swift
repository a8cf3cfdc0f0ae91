internal import CrashAnalysis
package import IntermediateDump
package import ProcessSnapshot

// Sentences about dumps without a crash, ends of runs without a dump, and what followed a dump.

extension DumpRequest {
  /// A few sentences that explain the dump, starting with what happened.
  ///
  /// - Parameter time: when the dump was taken, in nanoseconds since 1970.
  func sentences(at time: Int64?) -> [String] {
    guard kind == .hang else {
      let moment = time.map { " at \(Timestamp(nanoseconds: $0).readable)" } ?? ""
      let event =
        switch kind {
        case .program: "Dump requested by the program"
        case .tool: "Snapshot taken by postmortem capture"
        case .coreFile: "Core file of a stopped process, which no signal had ended"
        case .hang, nil: "Dump requested"
        }
      return ["\(event)\(moment). Nothing crashed."]
    }
    let subject = "The \((target ?? .heartbeat).noun)"
    let label = name.flatMap { $0.isEmpty ? nil : " \"\($0)\"" } ?? ""
    let length = hangTime.map { " for \(Self.seconds($0))" } ?? ""
    let limit = threshold.map { " (the limit is \(Self.seconds($0)))" } ?? ""
    // The sentence says "had not answered", because the thread, queue or executor may have answered after the dump.
    let event = "\(subject)\(label) had not answered\(length)\(limit)."
    return [event] + [activityText, evidenceText].compactMap(\.self)
  }

  private var activityText: String? {
    guard let processorTime, let isBusy else { return nil }
    return "Its thread was \(isBusy ? "busy" : "waiting"): it used \(Self.seconds(processorTime))"
      + " of CPU time meanwhile."
  }

  private var evidenceText: String? {
    switch threadEvidence {
    case .lastSeen: "The thread that hung may not be the one that answered last."
    case .some(.none): "Which thread hung is not known."
    case .known, nil: nil
    }
  }

  /// A duration in seconds, with one decimal.
  private static func seconds(_ nanoseconds: UInt64) -> String {
    let tenths = nanoseconds / 100_000_000
    return "\(tenths / 10).\(tenths % 10) s"
  }
}

extension RunEndKind {
  /// A short description of how a run ended, for lists and titles.
  ///
  /// For all kinds except `unexplained`, the description is `word` with spaces instead of hyphens.
  package static func fewWords(for word: String) -> String {
    word == RunEndKind.unexplained.word ? "likely SIGKILL" : word.replacing("-", with: " ")
  }
}

extension RunEnd {
  /// How the run ended, in one or more sentences.
  package var text: String { sentences.joined(separator: " ") }

  /// How a process that hung ended, in a few words.
  var hangText: String { "killed during the hang" + (certainty.map { ", \($0.word)" } ?? "") }

  /// The sentences about how the run ended, starting with what ended the run.
  var sentences: [String] {
    let name = signal.map(SignalNames.text) ?? "a signal"
    let sentence =
      switch kind {
      case .outOfMemory: "Killed by the kernel because memory had run out."
      case .stopTimeout: "Asked to stop by \(name), and killed because it did not in time."
      case .killed: "Killed by \(name)."
      case .rebooted: "Ended because the machine restarted or lost power."
      case .replaced: "Replaced by another program (exec)."
      case .hungThenKilled: "Hung, and was then killed."
      case .unexplained, nil: Self.unexplained.event
      }
    let doubt: String? =
      switch certainty {
      case .likely: "This is likely, not certain."
      // For an unexplained end, nothing is added, because the other sentences already list the possible explanations.
      case .possible where kind == .unexplained: nil
      case .possible: "This is possible; the evidence allows other explanations."
      case .certain, nil: nil
      }
    let others = kind == .unexplained || kind == nil ? Self.unexplained.others : []
    return [sentence] + others + ["It left no dump of its end."] + [doubt].compactMap(\.self)
  }

  private static let unexplained = (
    event: "Ended without a crash and without exit: most likely by SIGKILL.",
    others: [
      "`kill -9` sends it, so does the stop of a container or pod, and the kernel when it is out of"
        + " memory; nothing shows which of them did.",
      "Another signal that ends a process, or exec of a program that has ended since, would leave the same traces.",
    ]
  )
}

extension Survival {
  /// Describes what followed the dump; nil if the process ended right after the dump.
  ///
  /// - Parameter module: the file name of the module that contains the previous handler.
  func outcomeText(handlerIn module: String?) -> String? {
    // If a previous handler ran and then the default action ended the process, that handler is assumed to be Swift's
    // backtracer, because the backtracer returns. If Swift's libraries are linked statically, the module's name cannot
    // show whether the handler is the backtracer, because the backtracer's module is then the program itself.
    let isSwifts =
      previousHandlerIsBacktracer || module == "libswiftCore.so"
      || outcome == nil && previousHandler != nil
    switch outcome {
    case nil where isSwifts, .previousHandlerRan where isSwifts:
      return "Swift's backtracer ran after the dump"
    case .previousHandlerRan where previousHandler == nil:
      return
        "may have survived: a handler installed later called this package's handler, and continued"
    default: break
    }
    let handler =
      isSwifts ? "Swift's backtracer" : "previous handler" + (module.map { " in \($0)" } ?? "")
    return switch outcome {
    case nil: nil
    case .previousHandlerRan: "may have survived: a \(handler) ran after the dump"
    case .wentOn: "\(handler) handled it; the process continued"
    case .discarded: "the kernel discarded the signal; the process continued"
    case .endedByHandler:
      "\(handler) ran after the dump, and ended the process by abort, a signal or exit"
    }
  }

  /// Describes the earlier crashes that the process survived; nil if there were none.
  var earlierText: String? {
    guard let count = survivedCrashes, count > 0 else { return nil }
    let last = precedingReport.map { ", the last report \($0)" } ?? ""
    return "\(count) crash\(count == 1 ? "" : "es") of this process\(last)"
  }
}
