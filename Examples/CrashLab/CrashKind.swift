/// A way to die: its name on the command line and the function that does it.
struct CrashKind: Sendable {
  let name: String
  let summary: String
  let places: [Place]
  /// Dies; if it comes back, it did not work.
  let crash: @Sendable () throws -> Void

  init(
    _ name: String, _ summary: String, on places: [Place] = Place.allCases,
    crash: @escaping @Sendable () throws -> Void
  ) {
    self.name = name
    self.summary = summary
    self.places = places
    self.crash = crash
  }

  static let all: [CrashKind] =
    memoryKinds + fileKinds + processorKinds + libraryKinds + runtimeKinds + stackKinds + limitKinds
    + sentKinds + quietKinds
}
