import CrashReportDatabase
import Foundation

/// A cell of an answer: from a database's JSON output, or a known one.
enum AnswerCell: Decodable, Equatable {
  case null
  case boolean(Bool)
  case number(Double)
  case text(String)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let isTrue = try? container.decode(Bool.self) {
      self = .boolean(isTrue)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  /// True for true, which some engines write as 1.
  var isTrue: Bool { self == .boolean(true) || self == .number(1) }

  init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  init(_ number: Int) { self = .number(Double(number)) }
}

/// The answers to the questions of `Docs/Reference/Export.md`, counted here for a database of known reports.
struct KnownAnswers {
  private struct Row {
    let program, version, signature, host: String
    let tenant: String?
    /// Microseconds since 1970.
    let time: Int64
    let uptime: Double
    let resident: Int
  }

  private let rows: [Row]

  init(_ fleet: FleetDatabase) {
    rows = (0..<fleet.count).map { number in
      let facts = fleet.facts(number)
      let details = facts.details ?? ReportDetails()
      return Row(
        program: fleet.program(number), version: fleet.version(number),
        signature: facts.signature ?? "", host: fleet.host(number), tenant: fleet.tenant(number),
        time: fleet.time(number) / 1000,
        uptime: Double((details[.uptime] ?? 0) / 1_000_000) / 1000,
        resident: Int(details[.residentMemory] ?? 0))
    }
  }

  /// The answer by the name of the question; nil for an unknown question.
  func answer(to question: String) -> [[AnswerCell]]? {
    switch question {
    case "frequent": frequent
    case "new": new
    case "crash-free": crashFree
    case "hosts": hosts
    case "tags": tags
    case "days": days
    default: nil
    }
  }

  private var frequent: [[AnswerCell]] {
    let groups = Dictionary(grouping: rows) { [$0.program, $0.version, $0.signature] }
    let sorted = groups.sorted { left, right in
      (right.value.count, left.key[0], left.key[1], left.key[2])
        < (left.value.count, right.key[0], right.key[1], right.key[2])
    }
    return sorted.prefix(20).map { key, rows in
      key.map { AnswerCell($0) } + [AnswerCell(rows.count), Self.distinct(rows, \.host)]
    }
  }

  private var new: [[AnswerCell]] {
    var answer: [(crashes: Int, program: String, signature: String)] = []
    for (program, rows) in Dictionary(grouping: rows, by: \.program) {
      let versions = Dictionary(grouping: rows, by: \.version)
      let released = versions.compactMap { $0.value.map(\.time).min() }.max() ?? 0
      for (signature, rows) in Dictionary(grouping: rows, by: \.signature)
      where rows.allSatisfy({ $0.time >= released }) {
        answer.append((rows.count, program, signature))
      }
    }
    answer.sort { ($1.crashes, $0.program, $0.signature) < ($0.crashes, $1.program, $1.signature) }
    return answer.map {
      [AnswerCell($0.program), AnswerCell($0.signature), AnswerCell($0.crashes)]
    }
  }

  private var crashFree: [[AnswerCell]] {
    let hour: Int64 = 3_600_000_000
    let newest = (rows.map(\.time).max() ?? 0) / hour
    let late = rows.filter { $0.time / hour >= newest - 167 }
    let answer = Dictionary(grouping: late, by: \.host).map { host, rows in
      (free: 168 - Set(rows.map { $0.time / hour }).count, host: host, crashes: rows.count)
    }
    return answer.sorted { ($0.free, $0.host) < ($1.free, $1.host) }.map {
      [AnswerCell($0.host), AnswerCell($0.crashes), AnswerCell($0.free)]
    }
  }

  private var hosts: [[AnswerCell]] {
    let groups = Dictionary(grouping: rows, by: \.host)
    let sorted = groups.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
    return sorted.prefix(20).map { host, rows in
      let hours = rows.map(\.uptime).reduce(0, +) / Double(rows.count) / 3600
      return [
        AnswerCell(host), AnswerCell(rows.count), Self.distinct(rows, \.signature),
        .number((hours * 10).rounded() / 10), AnswerCell(rows.map(\.resident).max() ?? 0),
      ]
    }
  }

  private var tags: [[AnswerCell]] {
    let groups = Dictionary(grouping: rows.filter { $0.tenant != nil }) { $0.tenant ?? "" }
    return groups.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map {
      [AnswerCell($0), AnswerCell($1.count), Self.distinct($1, \.signature)]
    }
  }

  private var days: [[AnswerCell]] {
    let day: Int64 = 86_400_000_000
    return Dictionary(grouping: rows) { $0.time / day }.sorted { $0.key < $1.key }.map {
      let date = Date(timeIntervalSince1970: Double($0 * 86_400))
      return [.text(date.ISO8601Format().prefix(10) + ""), .text("crash"), AnswerCell($1.count)]
    }
  }

  private static func distinct(_ rows: [Row], _ path: KeyPath<Row, String>) -> AnswerCell {
    AnswerCell(Set(rows.map { $0[keyPath: path] }).count)
  }
}
