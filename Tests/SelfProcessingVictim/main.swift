// A program that processes what earlier runs and other programs left, as the README has it, and then
// does its deed: `SelfProcessingVictim DATABASE DEED`.
internal import Glibc
internal import Postmortem
internal import VictimDeeds

guard CommandLine.arguments.count == 3, let deed = Deed(rawValue: CommandLine.arguments[2]) else {
  exit(64)
}
let handler = try startHandler(database: CommandLine.arguments[1], product: "self processing")
if deed == .crashWhileProcessing {
  // As long as a conversion takes, at the most: it is cut anywhere, and often.
  startCrash(afterMicroseconds: UInt32.random(in: 0..<60_000))
}
print("recent \(try recentCrashes().count)")
for dump in try processIntermediateDumps() { print(dump) }
fflush(nil)
deed.perform(
  lockedFile:
    "\(handler.database)/pending-serialized-dumps/\(handler.identifier)@\(handler.reportID).locked",
  arguments: CommandLine.arguments)
