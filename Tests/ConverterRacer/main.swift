// Converts the dumps of a database in a process of its own: `ConverterRacer DATABASE IDENTIFIER`.
//
// Waits for the end of its standard input first, so that a test can let many go at once, and prints one line a dump.
internal import CrashConverter

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("usage: ConverterRacer DATABASE IDENTIFIER")
  fatalError()
}
while readLine() != nil {}
for dump in try processIntermediateDumps(database: arguments[1], identifier: arguments[2]) {
  print(dump)
}
