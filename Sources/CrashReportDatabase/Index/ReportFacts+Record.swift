internal import IntermediateDump

// The facts of a report as a record of the index contains them.
extension ReportFacts {
  /// The details for exports; nil if the index lacks them, so that they must be read from the minidump.
  package var details: ReportDetails? {
    get { detailBytes.flatMap { ReportDetails(reading: $0[...]) } }
    set { detailBytes = newValue?.bytes }
  }

  /// The texts in the order in which a record contains them.
  private static var texts: [WritableKeyPath<ReportFacts, String?>] {
    [
      \.program, \.version, \.cause, \.message, \.signature, \.place, \.end,
    ]
  }

  /// The maximum size of a text in bytes.
  ///
  /// A longer text is cut, because a list shows each report on one line.
  private static let maximumTextSize = 1 << 10
  private static let noText = UInt16.max
  private static let noTime = Int64.min
  private static let noSignal = Int32.min

  /// True if at least one of the texts is too long for a record of the index, which cuts it.
  package var isTooLong: Bool {
    Self.texts.contains { self[keyPath: $0].map { $0.utf8.count > Self.maximumTextSize } ?? false }
  }

  func append(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: time?.nanoseconds ?? Self.noTime)
    bytes.append(littleEndian: signal ?? Self.noSignal)
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
      let signal = bytes.littleEndian(at: 8, as: Int32.self),
      let flags = bytes.littleEndian(at: 12, as: UInt8.self)
    else { return nil }
    self.init()
    self.time = time == Self.noTime ? nil : Timestamp(nanoseconds: time)
    self.signal = signal == Self.noSignal ? nil : signal
    isNamed = flags & 1 != 0
    var rest = bytes.dropFirst(13)
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
