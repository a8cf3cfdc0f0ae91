internal import Glibc
internal import Postmortem

/// Converts the dumps of earlier runs, without starting a handler.
struct Processing: Subcommand {
  private let database: String
  private let identifier: String?
  private let storesSymbols: Bool
  private let waits: Bool
  private let showsIdentity: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.words()
    database = try arguments.database
    identifier = arguments.options["--identifier"]
    storesSymbols = !arguments.has("--no-symbols")
    waits = arguments.has("--wait")
    showsIdentity = arguments.has("--show-identity")
  }

  func run() throws {
    if showsIdentity { printIdentity() }
    // Lets a test make many processes continue at the same time.
    if waits { while readLine() != nil {} }
    for dump in try processed() { print(dump) }
    if showsIdentity { printIdentity() }
  }

  private func processed() throws -> [ProcessedDump] {
    guard let identifier else {
      return try processIntermediateDumps(database: database, storingSymbols: storesSymbols)
    }
    return try processIntermediateDumps(
      database: database, identifier: identifier, storingSymbols: storesSymbols)
  }
}
