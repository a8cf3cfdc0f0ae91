// Crashes the same program under each contender, side by side in one run, and prints medians and ratios.
//
//   swift run --package-path Tests/Benchmarks -c release capture-benchmark [REPEATS]
import Foundation

if CommandLine.arguments.dropFirst().first == "victim" {
  Victim.run(CommandLine.arguments.dropFirst(2))
}
let repeats = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 9

func median(_ values: [Double]) -> Double? {
  values.isEmpty ? nil : values.sorted()[values.count / 2]
}

func text(_ value: Double?, _ unit: String = "") -> String {
  guard let value else { return "-" }
  return String(format: value < 10 ? "%.2f" : "%.0f", value) + unit
}

print("Microseconds, medians of \(repeats); capture: what the dump or the limit itself took.")
print("threads  contender    until reaped  x none    capture  x limit        bytes")
for threads in [1, 16, 128, 1000] {
  var results: [Contender: [Measurement]] = [:]
  // The limit gets as many bytes for each stack as the dump had in all for each thread.
  let sample = try Round(contender: .postmortem, threads: threads, stackBytes: 0).run()
  let stackBytes = min(Int(sample.bytes) / threads, 100_000)
  for _ in 0..<repeats {
    for contender in Contender.allCases {
      let round = Round(contender: contender, threads: threads, stackBytes: stackBytes)
      results[contender, default: []].append(try round.run())
    }
  }
  let none = median(results[.none, default: []].compactMap(\.untilReaped))
  let limit = median(results[.limit, default: []].compactMap(\.capture))
  for contender in Contender.allCases {
    let measurements = results[contender, default: []]
    let reaped = median(measurements.compactMap(\.untilReaped))
    let capture = median(measurements.compactMap(\.capture))
    let bytes = median(measurements.map { Double($0.bytes) }) ?? 0
    let columns = [
      ("\(threads)", 7), (contender.rawValue, -12), (text(reaped), 12),
      (text(reaped.flatMap { value in none.map { value / $0 } }), 7),
      (text(capture), 10), (text(capture.flatMap { value in limit.map { value / $0 } }), 8),
      ("\(Int(bytes))", 12),
    ]
    print(
      columns.map { value, width in
        let pad = String(repeating: " ", count: max(0, abs(width) - value.count))
        return width < 0 ? value + pad : pad + value
      }.joined(separator: " "))
  }
}
