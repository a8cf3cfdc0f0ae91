package import IntermediateDump

/// The main results of the analysis that was made when a dump was converted.
///
/// A report keeps its cause, its message and its signature, whatever symbols a reader has. A reader that has more
/// symbols than the conversion may replace the place.
package struct StoredVerdict: Sendable, Equatable {
  /// The word for the cause; nil if the analysis found no cause, and for a run that left no dump.
  package var cause: String?
  package var certainty: FindingCertainty?
  package var message: String?
  package var signature: String?
  package var place: String?

  package init() {}

  package static let mapFields = MapFields(
    StoredVerdict(),
    [
      .optional(.verdictCause, \.cause),
      .optional(.verdictCertainty, \.certainty),
      .optional(.verdictMessage, \.message),
      .optional(.verdictSignature, \.signature),
      .optional(.verdictPlace, \.place),
    ])

  /// Removes texts that come from the program; keeps messages that contain no data of the program.
  mutating func sanitize(_ request: DumpRequest?) {
    message = message.flatMap { KnownMessage.ofSwift($0) ?? KnownMessage.ofLibrary($0) }
    // A signature can contain the program's reason for a dump, or the name of a hang monitor.
    if request?.reason != nil || request?.name != nil { signature = nil }
  }
}
