import IntermediateDump
import ProcessSnapshot
import Testing

/// Facts that the handler writes in the kernel's form, and that the reader of a dump decodes.
@Suite struct RawFactTests {
  private func snapshot(_ body: (inout DumpTokens) -> Void) throws -> ProcessSnapshot {
    var dump = DumpTokens()
    body(&dump)
    dump.end()
    return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
  }

  @Test(
    arguments: [
      ("65530", 65530), ("0", 0), ("", nil), ("65530\n", nil), ("-1", nil), ("6 5", nil),
      ("18446744073709551616", nil),
    ] as [(String, UInt64?)])
  func mappingLimits(text: String, limit: UInt64?) throws {
    let read = try snapshot { $0.map(.process) { $0.text(.mappingLimitText, text) } }
    #expect(read.process.mappingLimit == limit)
  }

  @Test(
    arguments: [
      ("1000", 1000), ("-250", -250), ("", nil), ("-", nil), ("4294967296", nil), ("1.5", nil),
    ] as [(String, Int32?)])
  func oomScores(text: String, score: Int32?) throws {
    let read = try snapshot { $0.map(.process) { $0.text(.oomScoreText, text) } }
    #expect(read.process.oomScoreAdjustment == score)
  }

  /// The struct rusage starts with the user time and the system time, each in seconds and microseconds.
  @Test(arguments: [(144, true), (143, false), (145, false), (0, false)])
  func processorTimes(size: Int, isRead: Bool) throws {
    let words: [UInt64] = [1, 2, 3, 4] + Array(repeating: 5, count: 15)
    let bytes = words.flatMap { DumpTokens.integer($0, 8) }.prefix(size)
    let read = try snapshot { $0.map(.process) { $0.property(.resourceUsage, Array(bytes)) } }
    #expect(read.process.userTime == (isRead ? 1_000_002_000 : nil))
    #expect(read.process.systemTime == (isRead ? 3_000_004_000 : nil))
  }

  @Test(
    arguments: [
      ("0", 1), ("0-2,6", 4), ("0-3", 4), ("", nil), ("3-1", nil), ("0-1-2", nil), ("0-x", nil),
      ("0-4294967295", nil), ("0-3\n", nil),
    ] as [(String, UInt32?)])
  func processors(list: String, count: UInt32?) throws {
    let read = try snapshot { $0.map(.system) { $0.text(.processorList, list) } }
    #expect(read.system.processorCount == count)
  }

  @Test(
    arguments: [
      (Array("worker".utf8), "worker"), (Array("a\nb\\n".utf8), "a\nb\\n"),
      ([0xFF, 0x61], "\u{FFFD}a"), ([], nil),
    ] as [([UInt8], String?)])
  func threadNames(bytes: [UInt8], name: String?) throws {
    let read = try snapshot {
      $0.array(.threads) {
        $0.map(.thread) {
          $0.unsigned(.threadID, 7, 4)
          $0.property(.threadName, bytes)
        }
      }
    }
    #expect(read.threads.map(\.name) == [name])
  }
}
