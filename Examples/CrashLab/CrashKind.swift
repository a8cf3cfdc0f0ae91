internal import CrashKinds

/// A kind of crash: its row in the table of kinds, and the function that crashes.
struct CrashKind: Sendable {
  let name: String
  let summary: String
  let places: [CrashPlace]
  /// Crashes; returns only if the crash did not happen.
  let crash: @Sendable () throws -> Void

  init(_ name: String, crash: @escaping @Sendable () throws -> Void) {
    self.name = name
    self.crash = crash
    if let row = KnownCrash.all.first(where: { $0.kind == name }) {
      (summary, places) = (row.summary, row.places)
    } else if let row = QuietEnd.all.first(where: { $0.kind == name }) {
      (summary, places) = (row.summary, row.places)
    } else {
      fatalError("\(name) is not in Examples/CrashLab/Table")
    }
  }

  static let all: [CrashKind] =
    memoryKinds + fileKinds + processorKinds + libraryKinds + runtimeKinds + stackKinds + limitKinds
    + sentKinds + quietKinds
}
