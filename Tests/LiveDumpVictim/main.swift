internal import CCrashLab
internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

// A program whose handler is in and that lives on: takes dumps without a crash, and hangs. The first argument says what,
// the second names the database.

/// One line at once: the process may be killed before it flushes anything.
func say(_ text: some CustomStringConvertible) {
  var line = text.description + "\n"
  line.withUTF8 { bytes in _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
}

func fail(_ text: String) -> Never {
  say(text)
  exit(70)
}

guard CommandLine.arguments.count > 2 else { fail("usage: LiveDumpVictim SCENE DATABASE [PATH]") }
let scene = CommandLine.arguments[1]
let database = CommandLine.arguments[2]
let last = CommandLine.arguments[CommandLine.arguments.count - 1]
if scene.hasPrefix("dump-faulting") { prepareFaults() }
do {
  try startHandler(
    database: database, identifier: "victim", product: "LiveDumpVictim", version: "1.0")
  switch scene {
  case "dump-now": say(try dumpFromHere(.now))
  case "dump-deferred": say(try dumpFromHere(.deferred))
  case "dump-stopping": try dumpServer(stopsThreads: true)
  case "dump-server": try dumpServer(stopsThreads: false)
  case "dump-path": say(try dumpWithoutCrash(to: last))
  case "process-path": say(try processIntermediateDump(at: last).map { "\($0)" } ?? "none")
  case "dump-32": dumpFromManyThreads(32)
  case "dump-faulting": say(try dumpFromHere(.deferred))
  case "crash-while-dumping": crashWhileDumping(stopsThreads: false)
  case "crash-while-stopping": crashWhileDumping(stopsThreads: true)
  case "recent": say(try recentCrashes().count)
  case "process": for dump in try processIntermediateDumps(storingSymbols: false) { say(dump) }
  default: try Hang(scene).run()
  }
} catch {
  fail("\(error)")
}
