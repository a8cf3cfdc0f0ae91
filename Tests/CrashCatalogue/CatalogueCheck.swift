/// Checks the reports of a case that another machine ran.
public struct CatalogueCheck: Sendable {
  private let symbols: VictimSymbols

  /// - Parameter directories: the directories with that machine's files on this one.
  public init(directories: [String]) { symbols = VictimSymbols(directories: directories) }

  /// The differences from the expected result; empty if there are none.
  public func failures(of testCase: CatalogueCase, database: String) throws -> [String] {
    try CatalogueReports(testCase: testCase, symbols: symbols)
      .failures(database: database, before: [], log: nil)
  }
}
