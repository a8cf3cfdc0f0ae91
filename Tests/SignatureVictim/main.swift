// Crashes in a library that a test compiled in one of several ways, on one of several threads:
// `SignatureVictim DATABASE LIBRARY KIND main|pthread|dispatch|task`.
internal import Glibc
internal import PostmortemHandler

guard CommandLine.arguments.count == 5 else { exit(64) }
_ = try startHandler(
  database: CommandLine.arguments[1], identifier: "shop", product: "shop")
switch CommandLine.arguments[4] {
case "main": Library.crash()
case "pthread": Library.crashOnPthread()
case "dispatch": Library.crashOnWorker()
case "task": await Task.detached { Library.crash() }.value
default: exit(64)
}
exit(65)
