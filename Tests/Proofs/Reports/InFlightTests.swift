import CrashCatalogue
import CrashTestSupport
import ProcessSnapshot
import Testing

/// The open contexts of programs that know which contexts they have open.
@Suite struct InFlightTests {
  @Test(arguments: BuildConfiguration.allCases)
  func ofAHundredThousandTheOldestAreListedAndAllCounted(_ configuration: BuildConfiguration)
    async throws
  {
    let directory = try TemporaryDirectory()
    let victim = try await InFlightVictim(
      executable: try await BuiltProducts.shared.executable("crash-lab", configuration),
      count: 100_000, in: directory.path)
    #expect(victim.failures == [])
  }

  /// For any bytes of the table, reading terminates, and no entry is made up.
  @Test func noEntryOfAHundredThousandChangedTablesIsInvented() {
    var entries: [OpenContextTable.Entry] = []
    for index in 0..<12 as Range<UInt64> {
      let (id, user) = ("request-\(index)", "user-\(index)")
      entries.append(
        .init(
          at: index, work: index / 2, isNested: index % 2 == 1,
          [(name: "request-id", value: id), (name: "user", value: user)]))
    }
    let whole = OpenContextTable(entries, omitted: (3, 4)).bytes
    let known = OpenContexts(whole)?.contexts ?? []
    #expect(known.count == 12)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<100_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let end = Int.random(in: 0..<8, using: &generator) == 0 ? 128 : bytes.count
        bytes[Int.random(in: 0..<end, using: &generator)] = generator.next()
      }
      if Bool.random(using: &generator) {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      guard let open = OpenContexts(bytes) else { continue }
      #expect(open.contexts.filter { !known.contains($0) } == [])
      #expect(open.incompleteCount <= 504)
      #expect(open.works.count <= open.contexts.count)
    }
  }
}
