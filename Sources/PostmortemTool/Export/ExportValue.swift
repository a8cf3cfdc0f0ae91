internal import CrashReport
internal import CrashReportDatabase
internal import DumpInspection
internal import IntermediateDump

/// The value of one column in one line of an export.
enum ExportValue: Equatable {
  case none
  case text(String)
  case integer(Int64)
  case boolean(Bool)
  case time(Timestamp)
  /// A number of nanoseconds, written as seconds with three decimals.
  case seconds(UInt64)
  case texts([String])
  case map([ReportDetails.Tag])

  /// The value for a text; null if the text is nil.
  init(_ text: String?) { self = text.map { .text($0) } ?? .none }

  /// A number that is too large for a database's signed integers is replaced with the largest signed integer.
  init(_ number: UInt64?) { self = number.map { .integer(Int64(clamping: $0)) } ?? .none }
}

extension ReportDetails {
  /// The value that an export contains for a fact of a dump.
  func value(of fact: IndexNames) -> ExportValue {
    guard let field = Number(rawValue: fact.field) else {
      return ExportValue(Text(rawValue: fact.field).flatMap { self[$0] })
    }
    guard fact.column?.kind == .seconds else { return ExportValue(self[field]) }
    return self[field].map { .seconds($0) } ?? .none
  }
}

extension String {
  /// A number of thousandths, written as a number with three decimals.
  static func thousandths(_ count: Int) -> String {
    "\(count / 1000)." + String(count % 1000 + 1000).dropFirst()
  }
}

extension ExportValue: JSONValue {
  func write(to json: inout JSONWriter) {
    switch self {
    case .none: json.add(verbatim: "null")
    case .text(let text): json.add(text)
    case .integer(let number): number.write(to: &json)
    case .boolean(let isTrue): isTrue.write(to: &json)
    case .time(let time): Self.write(time, to: &json)
    case .seconds(let nanoseconds): json.add(verbatim: .thousandths(Int(nanoseconds / 1_000_000)))
    case .texts(let texts): json.add(texts)
    case .map(let members): json.add(members: members.map { (name: $0.name, value: $0.value) })
    }
  }

  /// Adds a time with six decimals of the second, because not every reader accepts nine.
  private static func write(_ time: Timestamp, to json: inout JSONWriter) {
    json.add(verbatim: "\"")
    json.add(verbatim: String(time.description.dropLast(4)))
    json.add(verbatim: "Z\"")
  }
}
