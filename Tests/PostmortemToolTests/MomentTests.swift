import IntermediateDump
import Testing

@testable import PostmortemTool

/// Times, ages and sizes in the forms that options accept.
@Suite struct MomentTests {
  @Test(arguments: [
    ("90m", "2026-11-22T19:35:06.000000007Z"), ("7d", "2026-11-15T21:05:06.000000007Z"),
    ("2026-11-22", "2026-11-22T00:00:00.000000000Z"),
    ("2026-11-22 21:05", "2026-11-22T21:05:00.000000000Z"),
    ("2026-11-22T21:05:59", "2026-11-22T21:05:59.000000000Z"),
    // Forms that journalctl and docker accept.
    ("yesterday", "2026-11-21T00:00:00.000000000Z"), ("today", "2026-11-22T00:00:00.000000000Z"),
    ("now", "2026-11-22T21:05:06.000000007Z"), ("1 hour ago", "2026-11-22T20:05:06.000000007Z"),
    ("-1d", "2026-11-21T21:05:06.000000007Z"), ("1w", "2026-11-15T21:05:06.000000007Z"),
    ("1d12h", "2026-11-21T09:05:06.000000007Z"), ("2 weeks ago", "2026-11-08T21:05:06.000000007Z"),
    ("1h 30min ago", "2026-11-22T19:35:06.000000007Z"), ("21:00", "2026-11-22T21:00:00.000000000Z"),
    ("@1700000000", "2023-11-14T22:13:20.000000000Z"),
    ("Sun 2026-11-22 21:05:59 UTC", "2026-11-22T21:05:59.000000000Z"),
    // Forms that this tool's JSON and other programs write.
    ("2026-11-26T01:34:42.054899212Z", "2026-11-26T01:34:42.054899212Z"),
    ("2026-11-26T01:34:42Z", "2026-11-26T01:34:42.000000000Z"),
    ("2026-11-26T01:34:42.5Z", "2026-11-26T01:34:42.500000000Z"),
    ("2026-11-26T01:34:42+01:00", "2026-11-26T00:34:42.000000000Z"),
    ("2026-11-26 01:34 -0130", "2026-11-26T03:04:00.000000000Z"),
    ("2026-11-26 01:34:42 UTC", "2026-11-26T01:34:42.000000000Z"),
    ("h", nil), ("9999999999999d", nil), ("2026-11", nil), ("whenever", nil), ("", nil),
    ("7 parsecs", nil), ("2026-13-01", nil), ("--1d", nil), ("-1d ago", nil), ("@x", nil),
    ("2026-11-26T01:34:42 Europe/Berlin", nil), ("25:00", nil), ("1d,", nil),
  ])
  func momentsAsOptionsGiveThem(option: String, moment: String?) throws {
    let now = try #require(Timestamp("2026-11-22T21:05:06.000000007Z"))
    #expect(Timestamp(option: option, now: now)?.description == moment)
  }

  @Test(arguments: [
    ("7d", 604_800), ("2weeks", 1_209_600), ("1M", 2_629_800), ("1m", 60), ("12 hours", 43_200),
    ("1y", 31_557_600), ("-1d", nil), ("7", nil), ("", nil), ("1000001d", nil),
  ])
  func ages(text: String, seconds: Int64?) {
    #expect(Age(text)?.seconds == seconds)
  }

  @Test(arguments: [
    ("500M", 524_288_000), ("1G", 1 << 30), ("10GiB", 10 << 30), ("1kb", 1024), ("12B", 12),
    ("2T", 2 << 40), ("1", nil), ("1e3", nil), ("-1G", nil), ("", nil), ("G", nil),
    ("999999999T", Int64.max),
  ])
  func sizes(text: String, bytes: Int64?) {
    #expect(ByteCount.bytes(text) == bytes)
  }

  @Test func aPeriodHasBothItsEnds() throws {
    let moments = try ["2026-11-22T00:00:00.000000000Z", "2026-11-23T00:00:00.000000000Z"].map {
      try #require(Timestamp($0))
    }
    let period = Period(since: moments[0], until: moments[1])
    #expect(moments.allSatisfy(period.contains))
    #expect(!period.contains(Timestamp(nanoseconds: moments[0].nanoseconds - 1)))
    #expect(!period.contains(Timestamp(nanoseconds: moments[1].nanoseconds + 1)))
    #expect(Period().contains(moments[0]))
  }
}
