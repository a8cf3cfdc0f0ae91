internal import IntermediateDump

extension Survival {
  /// Reads a `survival` map.
  init(reading map: IntermediateDumpMap) {
    outcome = map.unsigned(.survivalOutcome).flatMap(UInt8.init(exactly:))
      .flatMap(Outcome.init(rawValue:))
    previousHandler = map.address(.previousHandler)
    survivedCrashes = map.unsigned32(.survivedCrashes)
    precedingReport = map.data(.precedingReport).flatMap { ReportID(bytes: $0) }
  }

  /// Writes the same map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.survival)
    writer.optional(.survivalOutcome, outcome?.rawValue)
    writer.address(.previousHandler, previousHandler)
    writer.optional(.survivedCrashes, survivedCrashes)
    writer.bytes(.precedingReport, precedingReport?.bytes)
    writer.end()
  }
}
