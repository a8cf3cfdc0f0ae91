package import IntermediateDump

/// The facts of a report that lists and exports show, found by analyzing its minidump once.
package struct ReportFacts: Sendable, Equatable, Codable {
  /// The product's name or, if there is none, the executable's name.
  package var program: String?
  /// The product's version.
  package var version: String?
  /// The signal's name; nil for a report that is not about a crash, or if the dump lacks the signal.
  package var signal: String?
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
  package private(set) var detailBytes: [UInt8]?

  /// The details for exports; nil if the index lacks them, so that they must be read from the minidump.
  package var details: ReportDetails? {
    get { detailBytes.flatMap { ReportDetails(reading: $0[...]) } }
    set { detailBytes = newValue?.bytes }
  }

  package init() {}

  /// The texts in the order in which a record contains them.
  private static var texts: [WritableKeyPath<ReportFacts, String?>] {
    [
      \.program, \.version, \.signal, \.cause, \.message, \.signature, \.place, \.end,
    ]
  }

  /// The maximum size of a text in bytes.
  ///
  /// A longer text is cut, because a list shows each report on one line.
  private static let maximumTextSize = 1 << 10
  private static let noText = UInt16.max
  private static let noTime = Int64.min

  /// True if at least one of the texts is too long for a record of the index, which cuts it.
  package var isTooLong: Bool {
    Self.texts.contains { self[keyPath: $0].map { $0.utf8.count > Self.maximumTextSize } ?? false }
  }

  func append(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: time?.nanoseconds ?? Self.noTime)
    bytes.append(isNamed ? 1 : 0)
    for path in Self.texts {
      guard let text = self[keyPath: path] else {
        bytes.append(littleEndian: Self.noText)
        continue
      }
      let utf8 = text.cut(toBytes: Self.maximumTextSize).utf8
      bytes.append(littleEndian: UInt16(clamping: utf8.count))
      bytes += utf8
    }
    bytes += detailBytes ?? []
  }

  /// Reads the output of `append`; nil if it is incomplete.
  package init?(reading bytes: ArraySlice<UInt8>, withDetails: Bool = true) {
    guard let time = bytes.littleEndian(at: 0, as: Int64.self),
      let flags = bytes.littleEndian(at: 8, as: UInt8.self)
    else { return nil }
    self.time = time == Self.noTime ? nil : Timestamp(nanoseconds: time)
    isNamed = flags & 1 != 0
    var rest = bytes.dropFirst(9)
    for path in Self.texts {
      guard let size = rest.littleEndian(at: 0, as: UInt16.self) else { return nil }
      rest = rest.dropFirst(2)
      guard size != Self.noText else { continue }
      guard rest.count >= Int(size) else { return nil }
      self[keyPath: path] = String(decoding: rest.prefix(Int(size)), as: UTF8.self)
      rest = rest.dropFirst(Int(size))
    }
    if withDetails, !rest.isEmpty { detailBytes = Array(rest) }
  }
}
