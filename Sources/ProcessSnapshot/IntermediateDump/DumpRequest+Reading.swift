internal import IntermediateDump

extension DumpRequest {
  /// Reads a `dumpRequest` map.
  init(reading map: IntermediateDumpMap) {
    func byte(_ key: IntermediateDumpKey) -> UInt8? {
      map.unsigned(key).flatMap(UInt8.init(exactly:))
    }
    kind = byte(.requestKind).flatMap(Kind.init(rawValue:))
    target = byte(.hangTarget).flatMap(Target.init(rawValue:))
    name = map.text(.hangName)
    threshold = map.unsigned(.hangThreshold)
    hangTime = map.unsigned(.hangTime)
    processorTime = map.unsigned(.hangProcessorTime)
    threadEvidence = byte(.hangThreadEvidence).flatMap(ThreadEvidence.init(rawValue:))
  }

  /// Writes the same map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.dumpRequest)
    writer.optional(.requestKind, kind?.rawValue)
    writer.optional(.hangTarget, target?.rawValue)
    writer.text(.hangName, name)
    writer.optional(.hangThreshold, threshold)
    writer.optional(.hangTime, hangTime)
    writer.optional(.hangProcessorTime, processorTime)
    writer.optional(.hangThreadEvidence, threadEvidence?.rawValue)
    writer.end()
  }
}
