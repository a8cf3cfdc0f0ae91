/// The severity of a breadcrumb, like a log level; the values of the key `breadcrumbLevel`.
public enum BreadcrumbLevel: UInt8, DumpCode {
  case trace = 1
  case debug = 2
  case info = 3
  case notice = 4
  case warning = 5
  case error = 6
  case critical = 7

  /// Creates the level with a name such as "warning"; nil if no level has that name.
  ///
  /// The names of the levels are also the raw values of swift-log's `Logger.Level`.
  public init?(word: String) {
    guard let level = Self.allCases.first(where: { $0.word == word }) else { return nil }
    self = level
  }

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
