/// The time at which a dump without a crash becomes a report.
public enum DumpProcessing: Sendable {
  /// In the same call.
  case now
  /// At the next `processIntermediateDumps` of any process of the database.
  case deferred
}
