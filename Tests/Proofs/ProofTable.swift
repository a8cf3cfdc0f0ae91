internal import Foundation

/// The table of the proofs, with the number of tests and the times.
struct ProofTable {
  private let records: [ProofRecord]
  /// The time of the whole run, during which some proofs ran at the same time.
  private let seconds: Double

  init(_ records: [ProofRecord], seconds: Double) {
    self.records = records
    self.seconds = seconds
  }

  var text: String {
    let header = ["proof", "tests", "cases", "failed", "skipped", "time", "CPU", "proved"]
    let rows = records.map { record in
      [
        record.name, "\(record.tests)", "\(record.cases)", "\(record.failed)",
        "\(record.skipped.values.reduce(0, +))", Self.time(record.seconds),
        Self.time(record.processorSeconds), record.holds ? record.summary : "NOT PROVED",
      ]
    }
    let sum = [
      "all", "\(records.map(\.tests).reduce(0, +))", "\(records.map(\.cases).reduce(0, +))",
      "\(records.map(\.failed).reduce(0, +))",
      "\(records.flatMap(\.skipped.values).reduce(0, +))",
      Self.time(seconds),
      Self.time(records.map(\.processorSeconds).reduce(0, +)), "",
    ]
    let lines = [header] + rows + (records.count > 1 ? [sum] : [])
    let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    let table = lines.map { line in
      line.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        // Aligns numbers to the right.
        return (1...6).contains(column) ? space + cell : cell + space
      }.joined(separator: "  ").replacing(/\ +$/, with: "")
    }
    return (table + notes).joined(separator: "\n")
  }

  /// The skipped tests with the reasons, and the obstacles.
  private var notes: [String] {
    var reasons: [String: Int] = [:]
    for record in records { reasons.merge(record.skipped) { $0 + $1 } }
    return reasons.sorted { $0.key < $1.key }.map { "skipped \($0.value): \($0.key)" }
      + records.compactMap { record in record.obstacle.map { "\(record.name): \($0)" } }
  }

  private static func time(_ seconds: Double) -> String {
    seconds < 60
      ? String(format: "%.1f s", seconds)
      : "\(Int(seconds) / 60) min \(Int(seconds) % 60) s"
  }
}
