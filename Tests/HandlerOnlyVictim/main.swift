// A program that links the handler alone: `HandlerOnlyVictim DATABASE IDENTIFIER` crashes, and
// leaves what becomes of its dump to another.
internal import Glibc
internal import PostmortemHandler

guard CommandLine.arguments.count == 3 else { exit(64) }
try startHandler(
  database: CommandLine.arguments[1], identifier: CommandLine.arguments[2],
  product: "HandlerOnlyVictim")
abort()
