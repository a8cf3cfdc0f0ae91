internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import Dispatch
internal import Foundation

/// The subcommand `postmortem demo`.
enum DemoCommand: Subcommand {
  static let name = "demo"
  static let summary = "crash a process of 8 threads for real and show what is left of it"
  static let help = """
    Crashes a process of 8 threads for real and shows what is left of it.

    Usage: postmortem demo [--keep] [--json]

    Runs this program again as a victim that installs the handler, starts its threads and reads through
    a bad pointer on a Dispatch worker. When it is dead, its dump is processed as the program's next
    start would do, and the report is shown. Takes a second or two and leaves nothing behind.

      --keep  keep the temporary database and say where it is
      --json  print the report as JSON

    """

  /// A victim that is still alive after this many seconds is killed.
  private static let patience = 30

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, flags: ["--keep", "--json"], operands: 0...0, help: help)
    let folder = try TemporaryFolder(prefix: "postmortem-demo")
    if arguments.has("--keep") { folder.keep() }
    // With --json only the report goes to standard output.
    func say(_ text: String) { if !arguments.has("--json") { Terminal.print(text + "\n") } }
    say(
      "1. A victim of 8 threads crashes (Swift's own backtracer and core files turned off for it).")
    let end = try crashVictim(database: folder.path)
    say("   It is dead: \(end)")
    say("2. Its next start processes what it left:")
    let processed = try processIntermediateDumps(database: folder.path)
    for dump in processed { say("   \(dump)") }
    guard let first = processed.first, processed.count == 1,
      let stored = try Database.open(folder.path).report(first.reportID)
    else {
      throw ToolError(path: folder.path, "the crash left \(processed.count) dumps instead of one")
    }
    say("3. The report, as postmortem show prints it:\n")
    let report = CrashReport(
      snapshot: try DumpFile.snapshot(at: stored.path), symbolicating: true)
    if arguments.has("--json") {
      Terminal.print(try JSON.text(of: report))
    } else {
      Terminal.print(TextReport.text(of: report, width: Terminal.width, color: Terminal.usesColor))
    }
    if arguments.has("--keep") {
      say("\nThe minidump: \(stored.path.escapedForMessage)")
      say("The database: \(folder.path.escapedForMessage)")
    }
  }

  /// Runs the victim to its end and says how it ended; an end without a signal is an error.
  private static func crashVictim(database: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: OwnProgram.path)
    process.arguments = [DemoVictim.name, database]
    process.environment = OwnProgram.quietEnvironment
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try process.run()
    if ended.wait(timeout: .now() + .seconds(patience)) == .timedOut {
      kill(process.processIdentifier, SIGKILL)
      ended.wait()
      throw ToolError("the victim did not crash within \(patience) seconds")
    }
    guard process.terminationReason == .uncaughtSignal else {
      throw ToolError("the victim exited with status \(process.terminationStatus), not by a signal")
    }
    let signal = process.terminationStatus
    return "signal \(signal) (\(unsafe String(cString: strsignal(signal))))"
  }
}
