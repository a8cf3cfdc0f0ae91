import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The contents of the drawing of the address space, from low to high addresses.
@Suite struct AddressSpaceMapTests {
  private func map(
    fault: UInt64?, code: Int32 = 1, mappings: [(UInt64, UInt64, String, String?)]
  ) -> AddressSpaceMap {
    var report = SampleReport.report(word: "w")
    report.snapshot.exception?.address = fault.map { Address($0) }
    report.snapshot.exception?.code = code
    report.threads[0].snapshot.context = nil
    report.snapshot.mappings = mappings.map { start, end, letters, path in
      var protection: MemoryMapping.Protection = []
      if letters.contains("r") { protection.insert(.read) }
      if letters.contains("w") { protection.insert(.write) }
      if letters.contains("x") { protection.insert(.execute) }
      return MemoryMapping(
        start: Address(start), end: Address(end), protection: protection, path: path ?? "")
    }
    return AddressSpaceMap(report)
  }

  private func words(_ map: AddressSpaceMap) -> [String] {
    map.rows.map { row in
      switch row {
      case .gap(let size): "gap \(size)"
      case .mark(let mark): "mark \(mark.address.value)"
      case .region(let region):
        "\(region.name ?? "-") \(region.start.value)-\(region.range.clampedEnd.value) \(region.protections.joined(separator: ","))"
          + (region.marks.isEmpty ? "" : " marked")
      }
    }
  }

  private let mappings: [(UInt64, UInt64, String, String?)] = [
    (100, 200, "r--", "/a"), (200, 300, "r-x", "/a"), (300, 400, "rw-", nil),
    (400, 500, "---", nil), (900, 1000, "rw-", "[stack]"),
  ]

  @Test func joinsTheMappingsOfAFile() {
    #expect(
      words(map(fault: nil, mappings: mappings)) == [
        "gap 100", "/a 100-300 r--,r-x", "- 300-400 rw-", "- 400-500 ---", "gap 400",
        "[stack] 900-1000 rw-",
      ])
  }

  @Test(
    arguments: [
      (24, 0, ["gap 24", "mark 24", "gap 76"]), (0, 0, ["mark 0", "gap 100"]),
      (600, 4, ["gap 100", "mark 600", "gap 300"]), (2000, 6, ["gap 1000", "mark 2000"]),
      (UInt64.max, 6, ["gap 18446744073709550615", "mark 18446744073709551615"]),
    ] as [(UInt64, Int, [String])])
  func marksAFaultInAGap(fault: UInt64, row: Int, expected: [String]) {
    let words = words(map(fault: fault, mappings: mappings))
    #expect(Array(words[row..<min(words.count, row + expected.count)]) == expected, "\(words)")
    #expect(words.count { $0.hasPrefix("mark") } == 1)
  }

  /// For a fault inside a mapping, the access rights of that mapping are shown.
  @Test func marksAFaultInAMapping() {
    let words = words(map(fault: 250, mappings: mappings))
    #expect(words.prefix(3) == ["gap 100", "/a 100-200 r--", "/a 200-300 r-x marked"])
  }

  @Test func marksNoFaultWithoutAnAddress() {
    #expect(!words(map(fault: 0, code: 0x80, mappings: mappings)).contains { $0.hasPrefix("mark") })
  }

  @Test func foldsWhatIsFarAway() {
    let many = (UInt64(0)..<100).map { index -> (UInt64, UInt64, String, String?) in
      let start = 1000 + index * 20
      return (start, start + 10, "rw-", "/\(index)")
    }
    let parts = map(fault: 5, mappings: many).parts
    #expect(parts.map(\.isNear) == [true, false])
    #expect(parts.reduce(0) { $0 + $1.rows.count } == 202)
    #expect(parts[0].rows.count == 6)
    #expect(map(fault: 5, mappings: []).rows.isEmpty)
  }

  @Test func keepsWhatIsNearOfVeryMany() {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.mappings = (0..<60_000).map { index in
      MemoryMapping(
        range: AddressRange(start: Address(UInt64(index) << 13), byteCount: 4096),
        protection: [.read])
    }
    var exception = ExceptionSnapshot(threadID: 1)
    exception.address = Address(50_000 << 13)
    snapshot.exception = exception
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    let (mappings, omitted) = report.snapshot.listedMappings
    #expect(mappings.count == 4096)
    #expect(omitted == 60_000 - 4096)
    #expect(mappings.contains { $0.start.value == UInt64(50_000) << 13 })
    #expect(mappings.first?.start == 0)
    // A register may point into a mapping that is not listed.
    let unlisted = Address(40_000 << 13)
    #expect(!mappings.contains { $0.range.contains(unlisted) })
    #expect(snapshot.place(of: unlisted) == "anonymous memory r--")
  }
}
