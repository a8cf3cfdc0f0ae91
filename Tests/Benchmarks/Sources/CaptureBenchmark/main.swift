// Crashes the same program with each contender, interleaved in one run, and prints medians and ratios.
//
//   swift run --package-path Tests/Benchmarks -c release capture-benchmark [OPTIONS] [REPEATS [THREADS...]]
import Foundation

var arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "victim" { Victim.run(arguments.dropFirst()) }
var surroundings = Surroundings()
let isUnderstood = surroundings.take(from: &arguments)
let numbers = arguments.compactMap(Int.init)
guard isUnderstood, numbers.count == arguments.count, numbers.allSatisfy({ $0 > 0 }) else {
  let usage = "usage: capture-benchmark \(Surroundings.usage) [REPEATS [THREADS...]]\n"
  FileHandle.standardError.write(Data(usage.utf8))
  exit(64)
}
try surroundings.prepare()
defer { surroundings.remove() }
let repeats = numbers.first ?? 9
let threadCounts = numbers.count > 1 ? Array(numbers.dropFirst()) : [1, 16, 128, 1000]

let contenders = Contender.allCases.filter { contender in
  if let obstacle = contender.obstacle { print("\(contender) is not measured: \(obstacle)") }
  return contender.obstacle == nil
}
Table.printHead(repeats: repeats)
if surroundings.words != Surroundings().words { print(surroundings.description) }
for threads in threadCounts {
  // `limit` writes as many bytes as the dump has.
  let sample = try Round(
    contender: .postmortem, threads: threads, limitBytes: 0, surroundings: surroundings
  ).run()
  var rounds: [[Contender: Measurement]] = []
  // The contenders are interleaved, so that other work on the machine affects all of them.
  for _ in 0..<repeats {
    var round: [Contender: Measurement] = [:]
    for contender in contenders {
      round[contender] = try Round(
        contender: contender, threads: threads, limitBytes: sample.bytes,
        surroundings: surroundings
      ).run()
    }
    rounds.append(round)
  }
  for contender in contenders { Table.printRow(contender, threads: threads, rounds) }
  Table.printCostOfSanitizing(threads: threads, rounds)
  Table.printCostOfObjects(threads: threads, rounds)
  Table.printGoal(threads: threads, rounds)
}
