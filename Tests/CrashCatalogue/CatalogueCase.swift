public import CrashTestSupport

/// One crash of the catalogue: its kind, its thread, its condition and its build.
public struct CatalogueCase: Sendable, CustomStringConvertible {
  public enum Death: Sendable {
    case crash(KnownCrash)
    case quiet(QuietEnd)

    public var kind: String {
      switch self {
      case .crash(let crash): crash.kind
      case .quiet(let end): end.kind
      }
    }
  }

  public let death: Death
  public let condition: CrashCondition
  public let place: CrashPlace
  public let build: BuildConfiguration

  public init(
    _ death: Death, _ condition: CrashCondition, on place: CrashPlace, _ build: BuildConfiguration
  ) {
    self.death = death
    self.condition = condition
    self.place = place
    self.build = build
  }

  /// The options with which the catalogue runs only this case.
  public var description: String {
    "--kind \(death.kind) --condition \(condition.name) --on \(place.rawValue)"
      + " --build \(build.rawValue)"
  }

  /// The number of reports that the case must leave.
  var reports: ClosedRange<Int> {
    guard case .crash(let crash) = death else { return 0...0 }
    if condition.takesSignals, crash.signal != 13 { return 0...0 }
    return condition.crashes...condition.crashes
  }

  /// True if there is no condition other than the kind of thread.
  public var isAlone: Bool { condition.group == .place }

  public var overflowsStack: Bool {
    if case .crash(let crash) = death { crash.overflowsStack } else { false }
  }

  /// The seconds after which the case counts as hung.
  var patience: Int { condition.isSlow ? 60 : 20 }

  func arguments(database: String?) -> [String] {
    arguments
      + (database.map { ["--database", $0 + condition.databaseSuffix] } ?? ["--no-handler"])
  }

  /// The arguments of crash-lab, except for the database.
  public var arguments: [String] {
    let threads = condition.arguments.contains("--threads") ? [] : ["--threads", "3"]
    return [death.kind, "--on", place.rawValue] + threads + condition.arguments
  }
}
