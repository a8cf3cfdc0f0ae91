/// When a dump without a crash becomes a report; without the converter, later only.
public enum DeferredProcessing: Sendable {
  /// At the next `processIntermediateDumps` of any process of the database.
  case deferred
}
