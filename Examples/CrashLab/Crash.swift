internal import CrashKinds
internal import Glibc
internal import Postmortem

/// A crash of one kind, at one place, in a process with a number of threads, under some conditions.
struct Crash {
  let kind: CrashKind
  let place: CrashPlace
  let database: String?
  let sleepers: Int
  let stackSize: Int?
  /// The first is the outermost.
  let conditions: [Condition]
  /// The handler's time limit; nil for the default.
  let milliseconds: Int?
  let forgoing: SystemCalls
  let writesSummary: Bool
  /// Whether the program prints a line immediately before the crash.
  let isAnnounced: Bool
  let privacy: ReportPrivacy
  /// Whether the handler records where errors are thrown.
  let recordsThrows: Bool
  /// The kind of crash of another thread at the same instant; nil for none.
  let companion: CrashKind?
  /// Whether memory, registers, annotations and breadcrumbs contain secrets.
  let plantsSecrets: Bool
  /// Whether registers and the stack contain references to objects.
  let plantsObjects: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.words()
    let (name, options) = (arguments.name, arguments.options)
    guard let kind = CrashKind.all.first(where: { $0.name == name }) else {
      throw UsageError("unknown kind \(name)")
    }
    guard let place = CrashPlace(rawValue: options["--on"] ?? "main") else {
      throw UsageError("unknown place \(options["--on"] ?? "")")
    }
    guard kind.places.contains(place) else {
      throw UsageError("\(name) is not possible on \(place)")
    }
    var conditions: [Condition] = []
    for name in arguments.conditions {
      guard let condition = Condition.all.first(where: { $0.name == name }) else {
        throw UsageError("unknown condition \(name)")
      }
      conditions.append(condition)
    }
    if let name = options["--forgo"] {
      guard let group = CallGroup.all.first(where: { $0.name == name }) else {
        throw UsageError("unknown system calls \(name)")
      }
      forgoing = group.calls
    } else {
      forgoing = []
    }
    if let name = options["--and"] {
      guard let kind = CrashKind.all.first(where: { $0.name == name }),
        kind.places.contains(.pthread)
      else { throw UsageError("\(name) is not possible on pthread") }
      companion = kind
    } else {
      companion = nil
    }
    milliseconds = try Self.count(options, "--milliseconds", 1...1_000_000)
    self.kind = kind
    self.conditions = conditions
    self.place = place
    sleepers = try Self.count(options, "--threads", 0...100_000) ?? 0
    writesSummary = options["--no-summary"] == nil
    isAnnounced = options["--announce"] != nil
    plantsSecrets = options["--plant"] != nil
    plantsObjects = options["--among-objects"] != nil
    recordsThrows = options["--throws"] != nil
    privacy = try Self.privacy(options)
    stackSize = try Self.count(options, "--stack", 16_384...1 << 40)
    database = options["--database"]
    guard (database ?? "").isEmpty == (options["--no-handler"] != nil) else {
      throw UsageError("either --database DIR or --no-handler")
    }
  }

  static func privacy(_ options: [String: String]) throws(UsageError) -> ReportPrivacy {
    switch options["--privacy"] {
    case nil: .full
    case "sanitized": .sanitized
    case "no-memory": .noMemory
    default: throw UsageError("--privacy is sanitized or no-memory")
    }
  }

  /// The options of the handler.
  var handlerOptions: HandlerOptions {
    var options = HandlerOptions()
    // By default, the handler does not handle SIGPIPE.
    if [kind.name, companion?.name].contains("pipe") { options.signals.insert(.brokenPipe) }
    if let milliseconds { options.limits.time = .milliseconds(milliseconds) }
    options.forgoing = forgoing
    options.writesSummary = writesSummary
    options.privacy = privacy
    options.recordsThrowSites = recordsThrows
    return options
  }

  /// Whether this is the kind that ends by returning from main.
  var returnsFromMain: Bool { kind.name == "return" }

  /// Sets up the conditions, starts the handler, and crashes; returns only if the crash did not happen.
  func run(startingHandler start: () -> Void) throws {
    for condition in conditions { condition.before?() }
    let earlier = place.prepare(stackSize: stackSize)
    start()
    Sleepers.start(sleepers, stackSize: stackSize)
    for condition in conditions { condition.after?(database) }
    if let companion { Companion.start(companion, stackSize: stackSize) }
    guard
      isAnnounced || plantsSecrets || plantsObjects
        || conditions.contains(where: { $0.around != nil })
    else {
      return try place.run(kind.crash, stackSize: stackSize, earlier: earlier)
    }
    var crash: @Sendable () -> Void = { [kind, isAnnounced] in
      if isAnnounced { _ = unsafe write(STDOUT_FILENO, "now\n", 4) }
      attempt(kind.crash)
    }
    if plantsSecrets {
      crash = { [crash] in Secrets.surround(crash) }
    }
    if plantsObjects {
      crash = { [crash] in surroundWithObjects(crash) }
    }
    for condition in conditions.reversed() {
      crash = { [crash] in condition.surround(crash) }
    }
    try place.run(crash, stackSize: stackSize, earlier: earlier)
  }

  private static func count(
    _ options: [String: String], _ name: String, _ range: ClosedRange<Int>
  ) throws(UsageError) -> Int? {
    guard let text = options[name] else { return nil }
    guard let value = Int(text), range.contains(value) else {
      throw UsageError("\(name) takes \(range.lowerBound) to \(range.upperBound), not \(text)")
    }
    return value
  }
}
