import Foundation

/// Prints the measurements.
enum Table {
  static func printHead(repeats: Int) {
    print("Microseconds, medians of \(repeats); ratios are medians of the ratios within a round.")
    print("threads  contender    until reaped   x none     capture  x limit        bytes")
  }

  static func printRow(
    _ contender: Contender, threads: Int, _ rounds: [[Contender: Measurement]]
  ) {
    let reaped = rounds.compactMap { $0[contender]?.untilReaped }
    let capture = rounds.compactMap { $0[contender]?.capture }
    let slower = rounds.compactMap {
      ratio($0[contender]?.untilReaped, $0[.none]?.untilReaped)
    }
    let aboveLimit = rounds.compactMap { ratio($0[contender]?.capture, $0[.limit]?.capture) }
    let bytes = rounds.compactMap { $0[contender].map { Double($0.bytes) } }
    let columns = [
      padded("\(threads)", 7), " " + padded(contender.rawValue, -12),
      padded(text(median(reaped)), 12), padded(text(median(slower), digits: 2), 8),
      padded(text(median(capture)), 11), padded(text(median(aboveLimit), digits: 2), 8),
      padded(text(median(bytes)), 12),
    ]
    print(columns.joined(separator: " "))
  }

  /// Prints the capture time with sanitizing, relative to a capture without.
  static func printCostOfSanitizing(threads: Int, _ rounds: [[Contender: Measurement]]) {
    let costs = rounds.compactMap { ratio($0[.sanitized]?.capture, $0[.postmortem]?.capture) }
    print(padded("\(threads)", 7), " sanitized / postmortem:", text(median(costs), digits: 2))
  }

  /// Prints the capture time with pointers to objects, relative to a capture without, and the added bytes.
  static func printCostOfObjects(threads: Int, _ rounds: [[Contender: Measurement]]) {
    let costs = rounds.compactMap { ratio($0[.objects]?.capture, $0[.postmortem]?.capture) }
    let times = rounds.compactMap { round -> Double? in
      guard let with = round[.objects]?.capture, let without = round[.postmortem]?.capture
      else { return nil }
      return with - without
    }
    let bytes = rounds.compactMap { round -> Double? in
      guard let with = round[.objects]?.bytes, let without = round[.postmortem]?.bytes
      else { return nil }
      return Double(with - without)
    }
    print(
      padded("\(threads)", 7), " objects / postmortem:", text(median(costs), digits: 2), "-",
      text(median(times)), "microseconds (half of the rounds \(text(quarter(times, 1))) to",
      text(quarter(times, 3)) + ") and", text(median(bytes)), "bytes more")
  }

  /// Prints the time until reaped minus that of `none`, relative to the limit, and whether it meets the goal.
  static func printGoal(threads: Int, _ rounds: [[Contender: Measurement]]) {
    let goals = [1: 8.0, 16: 2.7, 128: 1.6, 1000: 1.5, 4000: 1.5]
    guard let goal = goals[threads] else { return }
    let costs = rounds.compactMap { round -> Double? in
      guard let with = round[.postmortem]?.untilReaped, let without = round[.none]?.untilReaped
      else { return nil }
      return ratio(with - without, round[.limit]?.capture)
    }
    guard let cost = median(costs) else { return }
    let verdict = cost <= goal ? "met" : "missed by \(text(cost - goal, digits: 2))"
    print(
      padded("\(threads)", 7), " until reaped less none, in limits:", text(cost, digits: 2),
      "goal \(text(goal, digits: 1)): \(verdict)")
  }

  private static func ratio(_ value: Double?, _ other: Double?) -> Double? {
    guard let value, let other, other > 0 else { return nil }
    return value / other
  }

  private static func median(_ values: [Double]) -> Double? {
    values.isEmpty ? nil : values.sorted()[values.count / 2]
  }

  /// The value at a quartile.
  private static func quarter(_ values: [Double], _ number: Int) -> Double? {
    values.isEmpty ? nil : values.sorted()[min(values.count * number / 4, values.count - 1)]
  }

  private static func text(_ value: Double?, digits: Int = 0) -> String {
    value.map { String(format: "%.\(digits)f", $0) } ?? "-"
  }

  /// Pads a text with spaces on the left; on the right if the width is negative.
  private static func padded(_ text: String, _ width: Int) -> String {
    let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? text + spaces : spaces + text
  }
}
