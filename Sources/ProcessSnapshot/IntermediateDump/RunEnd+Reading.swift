internal import IntermediateDump

extension RunEnd {
  /// Reads a `runEnd` map.
  init(reading map: IntermediateDumpMap) {
    kind = map.unsigned(.runEndKind).flatMap(UInt8.init(exactly:)).flatMap(Kind.init(rawValue:))
    certainty = map.unsigned(.runEndCertainty).flatMap(UInt8.init(exactly:))
      .flatMap(Certainty.init(rawValue:))
    signal = map.signed(.signalNumber).flatMap(Int32.init(exactly:))
    evidence = map.text(.runEndEvidence)?.split(separator: "\n").map(String.init) ?? []
    hangReport = map.data(.evidenceHangReport).flatMap { ReportID(bytes: $0) }
  }

  /// Writes the same map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.runEnd)
    writer.optional(.runEndKind, kind?.rawValue)
    writer.optional(.runEndCertainty, certainty?.rawValue)
    writer.optional(.signalNumber, signal)
    // A line each: none of them holds a line feed of its own.
    writer.text(
      .runEndEvidence,
      evidence.map { $0.replacing("\n", with: " ") }.joined(separator: "\n"))
    writer.bytes(.evidenceHangReport, hangReport?.bytes)
    writer.end()
  }
}
