internal import CrashReport
internal import FoundationEssentials
internal import Glibc

/// JSON as this tool prints it.
///
/// The keys are sorted, the text ends in a line feed, and control characters that a terminal would act on are
/// escaped.
enum JSON {
  /// The JSON text of a value, indented.
  static func text(of value: some Encodable) throws -> String {
    try encoded(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
  }

  /// The JSON text of a value on one line.
  static func line(of value: some Encodable) throws -> String {
    try encoded(value, [.sortedKeys, .withoutEscapingSlashes])
  }

  private static func encoded(
    _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
  ) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    return String(decoding: try encoder.encode(value), as: UTF8.self).escapedForJSON() + "\n"
  }
}
