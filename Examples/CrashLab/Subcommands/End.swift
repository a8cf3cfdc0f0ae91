internal import Glibc
internal import Postmortem

/// A program that ends, or waits until another process ends it, in one of the ways of `WayToEnd`.
struct End: Subcommand {
  private let way: WayToEnd
  /// The handler's database; nil if the program starts no handler.
  let database: String?
  private let reportsUncleanEnds: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    let name = try arguments.words("WAY")[0]
    guard let way = WayToEnd.all.first(where: { $0.name == name }) else {
      throw UsageError("unknown way to end \(name)")
    }
    self.way = way
    database = try arguments.databaseOfHandler
    reportsUncleanEnds = !arguments.has("--no-unclean-ends")
  }

  func run() throws {
    if let database {
      var options = HandlerOptions()
      options.reportsUncleanEnds = reportsUncleanEnds
      CrashLab.start(database, options)
    }
    try way.run(self)
  }
}

func waitForEver() -> Never {
  while true { pause() }
}
