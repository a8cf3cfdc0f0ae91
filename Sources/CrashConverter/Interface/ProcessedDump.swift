package import CrashReportDatabase
public import IntermediateDump

/// The result of processing one pending dump.
public struct ProcessedDump: Sendable, Equatable, CustomStringConvertible {
  /// How one attempt to convert a dump ended.
  public struct Outcome: Sendable, Equatable {
    /// The kind of outcome; later versions may add more kinds.
    ///
    /// The raw value is the word for the outcome in JSON.
    public struct Kind: RawRepresentable, Sendable, Hashable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }

      /// The dump was complete, and the database has its report.
      public static let complete = Kind(rawValue: "complete")
      /// The dump was truncated, and the report contains the facts that precede the truncation.
      public static let torn = Kind(rawValue: "torn")
      /// The run left no dump, and the report describes how the run ended.
      public static let ended = Kind(rawValue: "ended")
      /// The conversion failed, and the dump stays for another attempt.
      public static let failed = Kind(rawValue: "failed")
      /// The conversion failed for the last time, and the dump is in the database's quarantine directory.
      public static let quarantined = Kind(rawValue: "quarantined")
      /// The dump is left for another call, because its owner may still write to it, another converter works on it,
      /// or an empty file cannot be examined now.
      public static let left = Kind(rawValue: "left")
    }

    public let kind: Kind
    /// The reason for the outcome, in words.
    ///
    /// If the kind is `ended`, the reason says how the run ended; if it is `complete`, the reason is empty.
    public let reason: String
    /// The time by which a dump that is `left` can be converted at the latest; nil for any other kind, or if this time
    /// is not known.
    public let until: Timestamp?

    package static let complete = Outcome(kind: .complete, reason: "", until: nil)
    package static func torn(_ reason: String) -> Outcome {
      Outcome(kind: .torn, reason: reason, until: nil)
    }
    package static func ended(_ verdict: String) -> Outcome {
      Outcome(kind: .ended, reason: verdict, until: nil)
    }
    package static func failed(_ reason: String) -> Outcome {
      Outcome(kind: .failed, reason: reason, until: nil)
    }
    package static func quarantined(_ reason: String) -> Outcome {
      Outcome(kind: .quarantined, reason: reason, until: nil)
    }
    package static func left(_ reason: String, until: Int64?) -> Outcome {
      Outcome(kind: .left, reason: reason, until: until.map(Timestamp.init(nanoseconds:)))
    }
  }

  /// The main facts of a report, for a program that acts on them or logs them.
  ///
  /// If the process that made the previous attempt ended while it converted the dump, the report is not analyzed, and
  /// the cause, message, signature and place are nil.
  public struct Summary: Sendable, Equatable {
    /// The product's name or, without a product, the executable's name; nil if a truncated dump lacks both.
    public var program: String? { facts.program }
    /// The product's version.
    public var version: String? { facts.version }
    /// The signal's number; nil if there was no crash, or if a truncated dump lacks the number.
    public var signal: Int32? { facts.signal }
    /// A word for the cause, as in the report's JSON; nil if the dump shows no cause.
    public var cause: String? { facts.cause }
    /// The message with which the process ended, from the Swift runtime, the C library or an uncaught C++ exception.
    ///
    /// For a dump that was taken without a crash, this is the program's reason, or else the text or type of its
    /// error.
    public var message: String? { facts.message }
    /// The signature, which is usually the same for crashes with the same cause.
    public var signature: String? { facts.signature }
    /// The function and line of the crash in the program's own code, as far as they are known.
    public var place: String? { facts.place }
    /// The time of the crash or of the dump; nil if it is not known.
    ///
    /// For a run that left no dump, this is the time of the last heartbeat; nil if there was none.
    public var time: Timestamp? { facts.time }

    /// The facts that lists and exports show, without the details of exports.
    package let facts: ReportFacts

    package init(_ facts: ReportFacts) {
      var facts = facts
      facts.detailBytes = nil
      self.facts = facts
    }

    /// The signal, the cause and the place on one line.
    ///
    /// Without a signal, the line begins with the message, such as the program's reason, or else with the first word
    /// of the signature, such as "hang" or "dump". The result is nil if all of these are missing.
    var line: String? {
      let kind = signature?.split(separator: " ").first.map(String.init)
      guard let what = facts.signalName ?? message ?? kind else { return nil }
      return [what, cause, place.map { "in \($0)" }].compactMap(\.self).joined(separator: " ")
    }
  }

  /// The report's ID, which is the ID in the dump's name unless another report has that ID.
  public let reportID: ReportID
  /// The name under which the dump was found.
  public let fileName: String
  public let outcome: Outcome
  /// The summary of the crash; nil if this call made no report.
  public let summary: Summary?

  /// The result as one line for a log: the program, what happened, and the beginning of the ID.
  ///
  /// `outcome.reason` can contain more than the line.
  public var description: String {
    let kind = [.complete, .torn, .ended].contains(outcome.kind) ? "report" : "dump"
    return "\(text) (\(kind) \(reportID.description.prefix(8)))"
  }

  /// The program and what happened, on one line.
  package var text: String {
    let reason = outcome.reason
    let result =
      switch outcome.kind {
      case .torn:
        [summary?.line, "torn, kept what was there: \(reason)"].compactMap(\.self)
          .joined(separator: "; ")
      case .ended: reason.firstSentence
      case .failed: "failed, will be tried again: \(reason)"
      case .quarantined: "failed, moved to quarantine: \(reason)"
      case .left: leftText
      default: summary?.line ?? outcome.kind.rawValue
      }
    let program = summary?.program ?? String(fileName.prefix { $0 != "@" })
    // The reason can contain text from a damaged file, so control characters are replaced with spaces.
    return String(
      "\(program): \(result)".unicodeScalars.map {
        $0.properties.generalCategory == .control ? " " : Character($0)
      })
  }

  /// Why and until when a dump is left, without the evidence that its owner may be alive.
  private var leftText: String {
    let isHang = fileName.hasSuffix(".hang")
    let until = outcome.until.map { ", until \($0.description.prefix(19))Z at most" } ?? ""
    let reason = outcome.reason.split(separator: ": ", maxSplits: 1).first ?? ""
    return (isHang ? "hangs: " : "") + "left for now\(until): \(reason)"
  }
}

extension String {
  /// The first sentence, without a period at its end.
  fileprivate var firstSentence: String {
    if let end = firstRange(of: ". ")?.lowerBound { return String(self[..<end]) }
    return hasSuffix(".") ? String(dropLast()) : self
  }
}
