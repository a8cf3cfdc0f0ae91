package import IntermediateDump
package import PendingDumps
internal import ProcessSnapshot

// The code that reads run records is separate from the code that writes them, because only a converter and the
// `postmortem` command read complete records. A program with only the handler does not contain this code.

extension RunRecord {
  static let fields = MapFields(
    RunRecord(
      processID: 0, startTime: 0, stackStart: 0, bootID: "", processNamespace: nil,
      launchTime: nil),
    // The part `course` comes first, because its notes and its heartbeat must be at fixed offsets, where the handler
    // overwrites them.
    [
      .part(\.course, RunCourse.fields),
      .required(.ownerProcessID, \.processID),
      .value(.ownerStartTime, \.startTime),
      .value(.ownerStackStart, \.stackStart),
      .value(.ownerBootID, \.bootID),
      .optional(.ownerProcessNamespace, \.processNamespace),
      .optional(.ownerLaunchTime, \.launchTime),
      .optional(.ownerTimeNamespace, \.timeNamespace),
      .flag(.ownerIsMapped, \.isMapped),
      .flag(.ownerTakesRequests, \.takesRequests),
      .optional(.ownerToldStacks, \.toldStacks),
      .part(
        \.signals,
        MapFields(
          OwnerSignals(crash: 0, stop: 0, watchdog: 0),
          [
            .required(.ownerCrashSignals, \.crash),
            .value(.ownerStopSignal, \.stop),
            .value(.ownerWatchdogSignal, \.watchdog),
          ])),
    ])

  /// Reads a run record; nil if it is incomplete or lacks the facts that a verdict needs.
  package init?(bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes), document.isComplete,
      var record = document.root.map(.owner).flatMap(Self.fields.value(of:)), record.normalize()
    else { return nil }
    self = record
  }
}

extension RunCourse {
  static let fields = MapFields(
    RunCourse(),
    [
      .required(.ownerNotes, \.notes),
      Field(.ownerHeartbeat, [.bytes], size: RunEvidence.heartbeatSize) { map, course in
        course.heartbeat = map.data(.ownerHeartbeat).flatMap { RunEvidence(heartbeat: $0) }
        return course.heartbeat != nil
      } write: { course, writer in
        writer.bytes(
          .ownerHeartbeat,
          course.heartbeat?.heartbeatBytes()
            ?? [UInt8](repeating: 0, count: RunEvidence.heartbeatSize))
      },
      .flag(.ownerFollowsExits, \.followsExits),
      .map(.runEvidence, \.launch, RunEvidence.mapFields),
      .optional(.executablePath, \.executablePath),
      .optional(.product, \.product),
      .optional(.version, \.version),
      .optional(.environment, \.environment),
    ])
}

extension RunNotes: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let notes = map.data(key).flatMap({ RunNotes(bytes: $0) }) else { return nil }
    self = notes
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.bytes(key, bytes)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.bytes] }
  package static var storedSize: Int? { RunNotePlace.size }
}
