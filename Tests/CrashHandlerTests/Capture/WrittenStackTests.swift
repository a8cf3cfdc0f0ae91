import Testing

@testable import CrashHandler

/// The parts of a stack that are not written a second time.
@Suite struct WrittenStackTests {
  private func written(_ first: Range<UInt64>, _ second: Range<UInt64> = 0..<0) -> WrittenStack {
    var written = WrittenStack()
    written.first = AddressRange(
      start: first.lowerBound, count: Int(first.upperBound - first.lowerBound))
    written.second = AddressRange(
      start: second.lowerBound, count: Int(second.upperBound - second.lowerBound))
    return written
  }

  /// The parts of a range that remain to be written, in the order of the writer.
  private func rest(of range: Range<UInt64>, _ written: WrittenStack) -> [Range<UInt64>] {
    var rest: [Range<UInt64>] = []
    var place = range.lowerBound
    while place < range.upperBound {
      let next = written.end(around: place)
      if next > place {
        place = next
      } else {
        let stop = written.start(above: place, below: range.upperBound)
        rest.append(place..<stop)
        place = stop
      }
    }
    return rest
  }

  @Test(
    arguments: [
      (0..<0, 0..<0, [100..<900], 0),
      (100..<300, 0..<0, [300..<900], 200),
      (0..<300, 500..<600, [300..<500, 600..<900], 300),
      (500..<600, 100..<200, [200..<500, 600..<900], 200),
      (100..<500, 300..<1000, [], 800),
      (900..<1000, 0..<100, [100..<900], 0),
    ] as [(Range<UInt64>, Range<UInt64>, [Range<UInt64>], Int)])
  func restAndCount(
    _ first: Range<UInt64>, _ second: Range<UInt64>, _ expected: [Range<UInt64>], _ count: Int
  ) {
    let written = written(first, second)
    #expect(rest(of: 100..<900, written) == expected)
    #expect(written.count(from: 100, to: 900) == count)
  }
}
