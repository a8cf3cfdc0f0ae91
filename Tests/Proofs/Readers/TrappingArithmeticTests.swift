import CrashTestSupport
import Testing

@Suite struct TrappingArithmeticTests {
  @Test(arguments: TrappingArithmetic.modules)
  func nothingThatReadsDumpsUsesArithmeticThatTraps(_ module: TrappingArithmetic.Module)
    async throws
  {
    let found = try await TrappingArithmetic.violations(in: module)
    #expect(found.isEmpty, "\(found)")
  }

  @Test(arguments: [
    ("func f(a: UInt64, b: UInt64) -> UInt64 { a + b }", "+ of UInt64"),
    ("func f(a: UInt64) -> UInt64 { a - 8 }", "- of UInt64"),
    ("func f(a: Int64) -> Int64 { a * 1_000 }", "* of Int64"),
    ("func f(a: [UInt32]) -> UInt32 { a.reduce(0, +) }", "+ of UInt32"),
    ("func f(a: UInt8) -> UInt8 { var a = a\n a += 1\n return a }", "+= of UInt8"),
    ("func f(a: Int64) -> Int64 { -a }", "- of Int64"),
    ("func f(a: Int64) -> Int64 { abs(a) }", "abs of Int64"),
    ("func f(a: UInt64) -> Int { Int(a) }", "Int(UInt64)"),
    ("func f(a: Int64) -> UInt64 { UInt64(a) }", "UInt64(Int64)"),
    ("func f(a: Double) -> Int { Int(a) }", "Int(Double)"),
    ("func f(a: Range<UInt64>) -> Int { a.count }", "count of a range"),
  ])
  func theCheckerFindsWhatIsPlanted(source: String, what: String) async throws {
    let directory = try SharedDirectory()
    try directory.put(Array(source.utf8), "Planted.swift")
    let found = try await TrappingArithmetic.violations(
      in: [directory.path + "/Planted.swift"], of: "Planted")
    #expect(found.map(\.what) == [what])
  }

  @Test func theCheckerPassesWhatCannotTrap() async throws {
    let source = """
      let hour: Int64 = 3600 * 1_000_000_000
      func f(a: UInt64, b: Int, c: [UInt64]) -> UInt64 {
        var a = a &+ 8
        a &-= 1
        let d = b + 1 - b * 2
        let e = a.addingReportingOverflow(UInt64(c.count)).partialValue
        return (Int(exactly: e) ?? Int(clamping: a)) > d ? a / 8 % 3 : a >> 3 | UInt64(clamping: b)
      }
      """
    let directory = try SharedDirectory()
    try directory.put(Array(source.utf8), "Passes.swift")
    let found = try await TrappingArithmetic.violations(
      in: [directory.path + "/Passes.swift"], of: "Passes")
    #expect(found == [])
  }
}
