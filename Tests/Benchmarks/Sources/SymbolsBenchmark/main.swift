import Foundation
import Postmortem

// Compares symbolicating the report of a program with 100 threads, which links Foundation, with llvm-symbolizer
// for the same addresses.
//
//   symbols-benchmark [REPEATS]

if CommandLine.arguments.dropFirst().first == "victim" {
  Victim.crash(database: CommandLine.arguments[2])
}
let repeats = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 9
let benchmark = try Benchmark()
defer { benchmark.removeFiles() }
try benchmark.run(repeats: repeats)
