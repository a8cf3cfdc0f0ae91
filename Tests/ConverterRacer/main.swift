// A process for the tests of conversion: `ConverterRacer DATABASE IDENTIFIER` converts dumps, once
// its standard input has ended, so that a test can let many go at once, and prints one line a dump.
// With `--end-main-thread` for the identifier it ends its main thread, and lives on until then; with
// `--identity` it says before and after with which rights it runs.
internal import CrashConverter
internal import Glibc

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("usage: ConverterRacer DATABASE IDENTIFIER")
  exit(2)
}

if arguments[2] == "--end-main-thread" { endMainThread() }
let isAsked = arguments[2] == "--identity"
if isAsked { printIdentity() }
while readLine() != nil {}
for dump in try processIntermediateDumps(database: arguments[1], identifier: arguments[2]) {
  print(dump)
}
if isAsked { printIdentity() }
