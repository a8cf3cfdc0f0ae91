internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// The value of a column.
enum ExportValue: Equatable {
  case none
  case text(String)
  case integer(Int64)
  case boolean(Bool)
  case time(Timestamp)
  /// Nanoseconds, written as seconds to the millisecond.
  case seconds(UInt64)
  case texts([String])
  case map([ReportDetails.Tag])

  /// Null for a text that is nil.
  init(_ text: String?) { self = text.map { .text($0) } ?? .none }

  /// Numbers that databases with signed integers do not have are their largest one.
  init(_ number: UInt64?) { self = number.map { .integer(Int64(clamping: $0)) } ?? .none }
}
