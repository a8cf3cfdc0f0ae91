// A program that links the handler alone, and leaves what becomes of its dumps to others:
// `HandlerOnlyVictim DATABASE DEED`.
internal import Glibc
internal import PostmortemHandler
internal import VictimDeeds

guard CommandLine.arguments.count == 3, let deed = Deed(rawValue: CommandLine.arguments[2]) else {
  exit(64)
}
let handler = try startHandler(database: CommandLine.arguments[1], product: "handler only")
deed.perform(
  lockedFile:
    "\(handler.database)/pending-serialized-dumps/\(handler.identifier)@\(handler.reportID).locked",
  arguments: CommandLine.arguments)
