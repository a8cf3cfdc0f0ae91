// Takes dumps of processes that continue, with tasks and without, interleaved in one run, and prints the bytes
// and the time that the tasks add.
//
//   swift run --package-path Tests/Benchmarks -c release task-benchmark [REPEATS [THREADS [TASKS]]]
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "victim" { try Victim.run(arguments.dropFirst()) }
let numbers = arguments.compactMap { Int($0) }
guard numbers.count == arguments.count, numbers.count <= 3, numbers.allSatisfy({ $0 > 0 }) else {
  FileHandle.standardError.write(Data("usage: task-benchmark [REPEATS [THREADS [TASKS]]]\n".utf8))
  exit(64)
}
let repeats = numbers.first ?? 15
let threads = numbers.dropFirst().first ?? 200
let tasks = numbers.dropFirst(2).first ?? 10_000

print("\(repeats) rounds, \(threads) threads; medians")
for manner in Victim.Manner.allCases {
  // The runs are interleaved, so that other work on the machine affects both alike.
  let rounds = try (0..<repeats).map { _ in
    (
      without: try Victim.measure(threads: threads, tasks: 0, manner),
      with: try Victim.measure(threads: threads, tasks: tasks, manner)
    )
  }
  let without = Measurement.median(rounds.map(\.without))
  let with = Measurement.median(rounds.map(\.with))
  let added = rounds.map { $0.with.microseconds - $0.without.microseconds }.sorted()
  print(
    """
    \(manner.rawValue): \(manner.clock)
      no tasks:     \(without)
      \(tasks) tasks: \(with)
      added: \(with.bytes - without.bytes) bytes, \(added[added.count / 2]) microseconds \
    (middle half: \(added[added.count / 4]) to \(added[added.count * 3 / 4]))
    """)
}
