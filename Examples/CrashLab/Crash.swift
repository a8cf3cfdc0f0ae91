/// One way to die, in one place, among so many threads.
struct Crash {
  let kind: CrashKind
  let place: Place
  let database: String?
  let sleepers: Int
  let stackSize: Int?
  let writesLastWords: Bool

  init(name: String, options: [String: String]) throws(UsageError) {
    guard let kind = CrashKind.all.first(where: { $0.name == name }) else {
      throw UsageError("unknown kind \(name)")
    }
    guard let place = Place(rawValue: options["--on"] ?? "main") else {
      throw UsageError("unknown place \(options["--on"] ?? "")")
    }
    guard kind.places.contains(place) else {
      throw UsageError("\(name) is not possible on \(place)")
    }
    self.kind = kind
    self.place = place
    sleepers = try Self.count(options, "--threads", 0...100_000) ?? 0
    writesLastWords = options["--no-last-words"] == nil
    stackSize = try Self.count(options, "--stack", 16_384...1 << 40)
    database = options["--database"]
    guard (database ?? "").isEmpty == (options["--no-handler"] != nil) else {
      throw UsageError("either --database DIR or --no-handler")
    }
  }

  /// True for the kind that is none unless the handler is told so.
  var catchesBrokenPipe: Bool { kind.name == "pipe" }

  /// Starts the handler in between and comes back only if the crash did not happen.
  func run(startingHandler start: () -> Void) throws {
    let earlier = place.prepare(stackSize: stackSize)
    start()
    Sleepers.start(sleepers, stackSize: stackSize)
    try place.run(kind.crash, stackSize: stackSize, earlier: earlier)
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
