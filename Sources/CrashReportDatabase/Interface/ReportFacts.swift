package import IntermediateDump

/// The facts of a report that summaries, lists and exports show, found by analyzing its minidump once.
package struct ReportFacts: Sendable, Equatable, Codable {
  /// The product's name or, if there is none, the executable's name.
  package var program: String?
  /// The product's version.
  package var version: String?
  /// The signal's number; nil for a report that is not about a crash, or if the dump lacks the signal.
  package var signal: Int32?
  /// A word for the cause, as in the report's JSON.
  package var cause: String?
  /// The message with which the process ended or, for a dump without a crash, the program's reason or its error.
  package var message: String?
  /// The signature; nil if a truncated dump lacks the signal, or if the report was not analyzed.
  package var signature: String?
  /// The place of the crash, usually the innermost call of the program's own code.
  package var place: String?
  /// A word for how a run without a dump ended; nil for the report of a dump.
  package var end: String?
  /// The time of the crash or of a dump without a crash or, for a run without a dump, of the last heartbeat; nil if it
  /// is not known.
  package var time: Timestamp?
  /// True if the verdict is stored in the report, or was made by a reader without a time limit.
  ///
  /// False if the conversion did not search for names, or ran out of time. Lists then read the report again.
  package var isNamed = true
  /// The encoded `ReportDetails`; nil if the facts were read without details, as for a list.
  package var detailBytes: [UInt8]?

  package init() {}

  package var signalName: String? { signal.map(SignalNames.text) }
}
