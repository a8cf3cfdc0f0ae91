/// Compares what a case left with what it must be, where another machine ran it.
public struct CatalogueCheck: Sendable {
  private let symbols: VictimSymbols

  /// - Parameter directories: where that machine's files are on this one.
  public init(directories: [String]) { symbols = VictimSymbols(directories: directories) }

  /// What was not as it must be; empty if all was.
  public func failures(of testCase: CatalogueCase, database: String) throws -> [String] {
    try CatalogueReports(testCase: testCase, symbols: symbols)
      .failures(database: database, before: [])
  }
}
