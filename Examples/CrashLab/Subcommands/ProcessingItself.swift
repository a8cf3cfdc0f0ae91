internal import CrashLabDeeds
internal import Glibc
internal import Postmortem

/// A program that converts the dumps of earlier runs and other programs, as the README shows, and then
/// performs its deed.
struct ProcessingItself: Subcommand {
  private let deed: Deed
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    deed = try Arguments.choice(try arguments.words("DEED")[0])
    database = try arguments.database
  }

  func run() throws {
    let handler = CrashLab.start(database)
    if deed == .crashWhileProcessing {
      // At most the time of a conversion, so that the crash often interrupts one, at a random point.
      let delay = UInt32.random(in: 0..<60_000)
      Thread.start {
        usleep(delay)
        Deed.crash()
      }
    }
    print("recent \(try handler.recentCrashes().count)")
    for dump in try processIntermediateDumps() { print(dump) }
    fflush(nil)
    deed.perform(
      lockedFile:
        "\(handler.database)/pending-serialized-dumps/\(handler.identifier)@\(handler.reportID).locked",
      restart: ["crash-lab", "process-itself", Deed.abort.rawValue, "--database", database])
  }
}
