internal import Glibc
internal import Postmortem

/// Two threads that write to one variable without synchronization, then a crash by abort(3).
///
/// A program that cannot start the handler prints the reason and continues, as a service does.
struct DataRace: Subcommand {
  nonisolated(unsafe) private static var counter = 0

  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.words()
    database = try arguments.databaseOfHandler
  }

  func run() throws {
    do {
      if let database { try startHandler(database: database) }
    } catch {
      standardError("crash-lab: \(error)\n")
    }
    let threads = (0..<2).map { _ in
      Thread.start { for _ in 0..<1000 { unsafe Self.counter += 1 } }
    }
    for thread in threads { thread.join() }
    print(Handler.current == nil ? "raced without a handler" : "raced with a handler")
    fflush(nil)
    abort()
  }
}
