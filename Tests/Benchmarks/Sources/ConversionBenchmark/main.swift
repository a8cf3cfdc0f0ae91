// Converts dumps that are made of a real one, each database by a process of its own, beside a plain copy of
// the same files, and says of each goal whether it is met.
//
//   swift run --package-path Tests/Benchmarks -c release conversion-benchmark [REPEATS [DIRECTORY]]
//
// DIRECTORY, in which the databases are made, is the system's for temporary files if it is not given.
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
