/// The part of a run record that tells how the run went, for a process that ends without a dump.
package struct RunCourse: Sendable, Equatable {
  package var notes = RunNotes()
  package var heartbeat: RunEvidence?
  /// What the process saw when its handler was started.
  package var launch: RunEvidence?
  /// True if an end by `_exit` would be in the notes; without that, a process that was killed looks
  /// like one that called it.
  package var followsExits = false
  package var executablePath: String?
  package var product: String?
  package var version: String?
  package var environment: String?

  package init() {}

  init?(reading owner: IntermediateDumpMap) {
    guard let bytes = owner.data(.ownerNotes), let notes = RunNotes(bytes: bytes) else {
      return nil
    }
    self.notes = notes
    heartbeat = owner.data(.ownerHeartbeat).flatMap { RunEvidence(heartbeat: $0) }
    launch = owner.map(.runEvidence).flatMap { RunEvidence(reading: $0) }
    followsExits = owner.unsigned(.ownerFollowsExits) == 1
    executablePath = owner.text(.executablePath)
    product = owner.text(.product)
    version = owner.text(.version)
    environment = owner.text(.environment)
  }

  /// The tokens by themselves, for a record that is written by a forked child.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode { encode(to: &$0) }
  }

  /// Writes the properties, which must come first in the owner's map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.bytes(.ownerNotes, notes.bytes)
    writer.bytes(
      .ownerHeartbeat,
      heartbeat?.heartbeatBytes() ?? [UInt8](repeating: 0, count: RunEvidence.heartbeatSize))
    writer.unsigned(.ownerFollowsExits, followsExits ? 1 : 0, width: 1)
    launch?.encode(to: &writer)
    writer.text(.executablePath, executablePath)
    writer.text(.product, product)
    writer.text(.version, version)
    writer.text(.environment, environment)
  }
}
