// A program that processes what earlier runs and other programs left, as the README has it, and then
// does its deed: `SelfProcessingVictim DATABASE DEED`.
internal import Glibc
internal import Postmortem
internal import VictimDeeds

guard CommandLine.arguments.count == 3, let deed = Deed(rawValue: CommandLine.arguments[2]) else {
  exit(64)
}
let handler = try startHandler(database: CommandLine.arguments[1], product: "self processing")
print("recent \(try recentCrashes().count)")
for dump in try processIntermediateDumps() { print(dump) }
fflush(nil)
deed.perform(
  lockedFile:
    "\(handler.database)/pending-serialized-dumps/\(handler.identifier)@\(handler.reportID).locked",
  arguments: CommandLine.arguments)
