// A program that links only the handler, and leaves its dumps to other programs: `HandlerOnlyVictim DATABASE DEED
// [ATTACHMENT...]`.
internal import CrashLabDeeds
internal import Glibc
internal import PostmortemHandler

guard CommandLine.arguments.count >= 3, let deed = Deed(rawValue: CommandLine.arguments[2]) else {
  exit(64)
}
var options = HandlerOptions()
options.attachments = Array(CommandLine.arguments.dropFirst(3))
options.sharedGroup = unsafe getenv("VICTIM_SHARED_GROUP").map { unsafe String(cString: $0) }
func pageFaults() -> Int {
  var usage = rusage()
  unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_minflt
}

// The first call binds the function before page faults are counted.
_ = pageFaults()
let faults = pageFaults()
// Marks the start for tools that count the system calls between two marks.
close(-1)
let handler = try startHandler(
  database: CommandLine.arguments[1], product: "handler only", options: options)
close(-1)
let faultsOfStart = pageFaults() - faults
if unsafe getenv("VICTIM_PRINTS_FAULTS") != nil { print("faults \(faultsOfStart)") }
deed.perform(
  lockedFile:
    "\(handler.database)/pending-serialized-dumps/\(handler.identifier)@\(handler.reportID).locked",
  restart: [CommandLine.arguments[0], CommandLine.arguments[1], Deed.abort.rawValue])
