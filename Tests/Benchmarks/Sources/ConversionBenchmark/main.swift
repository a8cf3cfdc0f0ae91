// Converts dumps that are made from a real one, each database in a separate process, compares with a plain copy
// of the same files, and prints for each goal whether it is met.
//
//   swift run --package-path Tests/Benchmarks -c release conversion-benchmark [REPEATS [DIRECTORY]]
//
// The databases are created in DIRECTORY; the default is the system's directory for temporary files.
import Foundation
import Postmortem

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "victim":
  try startHandler(database: arguments[1])
  print(UnsafePointer<Int>(bitPattern: arguments.count)?.pointee ?? 0)
  exit(1)
case "convert":
  let processed = try processIntermediateDumps(database: arguments[1], storingSymbols: false)
  exit(processed.allSatisfy { $0.outcome.kind == .complete } ? 0 : 1)
default: break
}
let repeats = arguments.first.flatMap { Int($0) } ?? 5
let benchmark = try Benchmark(directory: arguments.dropFirst().first)
defer { benchmark.removeFiles() }
try benchmark.run(repeats: repeats)
