import Stackwalk
import Testing

@testable import CrashReport
@testable import PostmortemTool

/// Finds crash summaries in logs of any format.
@Suite struct LoggedSummaryTests {
  private static let lines = [
    "crash-summary 1 x86_64", "product Shop", "version 1.2",
    "signal 11 SIGSEGV code 1 SEGV_MAPERR address 0x0",
    #"message first\nsecond \\ \x1b[31m"#, "thread 4712 worker 1",
    #"context request-id = 8C2E = \n"#, "termination 15 SIGTERM",
    "report 3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1", "dump torn ENOSPC /var/crashes/a b@id.locked",
    "module 0 00ff /srv/shop", "frame 0 0+0x1f2a shop", "frame 1 0?0x1000@0x18 shop",
    "frame 2 -~0x7f00@0x40^0x10 ", "repeats 8030 2",
    "more-frames", "end",
  ]

  private func blocks(_ lines: [String]) -> [LoggedSummary] {
    var reader = LoggedSummaryReader()
    for line in lines { reader.take(Array(line.utf8)) }
    return reader.finish()
  }

  private func marked(_ processID: Int, prefix: String = "") -> [String] {
    Self.lines.map { "\(prefix)postmortem[\(processID)]: \($0)" }
  }

  @Test(arguments: [
    "", "2026-11-21T14:49:05.123Z ", "Nov 21 14:49:05 host web[9]: ", "web-1  | ",
    "<3>", "postmortem[x]: ", "postmortem[", "\u{1B}[33mweb |\u{1B}[0m ",
  ])
  func readsABlockBehindAnyPrefix(_ prefix: String) throws {
    let found = blocks(["noise"] + marked(4711, prefix: prefix).map { $0 + "\r" } + ["noise"])
    #expect(found.count == 1)
    let block = try #require(found.first)
    #expect(block.isWhole)
    #expect(block.processID == 4711)
    #expect(block.architecture == "x86_64")
    #expect(block.product == "Shop" && block.version == "1.2")
    #expect(block.signal == ["11", "SIGSEGV", "code", "1", "SEGV_MAPERR", "address", "0x0"])
    #expect(block.messages == ["first\nsecond \\ \u{1B}[31m"])
    #expect(block.threadID == "4712" && block.threadName == "worker 1")
    #expect(block.reportID == "3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1")
    #expect(block.dump == "torn" && block.dumpFailure == "ENOSPC")
    #expect(block.dumpPath == "/var/crashes/a b@id.locked")
    #expect(block.modules == [0: .init(buildID: [0, 255], path: "/srv/shop")])
    #expect(block.frames.map(\.offset) == [0x1f2a, 0x1000, 0x7f00])
    #expect(block.frames.map(\.place) == [.unknown, .stack(0x18), .stack(0x40)])
    #expect(block.frames.map(\.evidence) == [.framePointer, .candidate, .savedPointer])
    #expect(block.frames.map(\.savedPointer) == [nil, nil, 0x10])
    #expect(block.frames.map(\.module) == [0, 0, nil])
    #expect(block.hasMoreFrames)
    #expect(block.contexts == [.init(name: "request-id", value: "8C2E = \n")])
    #expect(block.termination == "SIGTERM")
    #expect(block.frames.map(\.foldedCount) == [0, 0, 8030] && block.frames[2].foldedPeriod == 2)
    let text = LoggedSummarySymbolicator().text(of: block)
    #expect(text.contains("\nrequest-id = 8C2E = \\n\n"), "\(text)")
    #expect(text.contains("\nShutdown   SIGTERM had asked the process to end\n"), "\(text)")
    #expect(text.contains("... 8030 frames ..."), "\(text)")
  }

  @Test func foldsThatCannotBeAreLeftOut() throws {
    for line in [
      "repeats", "repeats 1", "repeats 0 1", "repeats -1 1", "repeats 9 4", "repeats 9 0",
      "repeats 99999999999 1", "repeats 9 1\u{0}",
    ] {
      let lines = marked(7).map { $0.hasSuffix("repeats 8030 2") ? "postmortem[7]: " + line : $0 }
      let block = try #require(blocks(lines).first)
      #expect(block.frames.allSatisfy { $0.foldedCount == 0 }, "\(line)")
      #expect(block.frames.count == 3 && block.isWhole)
    }
  }

  @Test func readsTheLineThatStandsInPlaceOfABlock() throws {
    let line =
      "web | postmortem[7]: crash-report 3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1 complete - /var/a b@id"
    let found = blocks(
      ["web | postmortem[7]: crash-summary 1 x86_64", line, "web | postmortem[7]: end"])
    #expect(found.map(\.isLine) == [false, true])
    #expect(found.map(\.isWhole) == [false, true])
    let block = try #require(found.last)
    #expect(block.processID == 7)
    #expect(block.reportID == "3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1")
    #expect(block.dump == "complete" && block.dumpFailure == nil)
    #expect(block.dumpPath == "/var/a b@id")
    let text = LoggedSummarySymbolicator().text(of: block)
    #expect(
      text == "Process 7: Report 3f2a7c1e-0d55-4a52-9c63-2f7a4be0f6a1: in /var/a b@id\n")
    #expect(blocks(["postmortem[7]: crash-report", "postmortem[7]: crash-report x"]).count == 2)
  }

  @Test func tellsBlocksApartThatAreMixed() {
    let mixed = zip(marked(1), marked(2)).flatMap { [$0, $1] }
    let found = blocks(mixed)
    #expect(found.map(\.processID) == [1, 2])
    #expect(found.allSatisfy { $0.isWhole && $0.frames.count == 3 })
    // A repeated process ID is the next process.
    #expect(blocks(marked(1) + marked(1)).count == 2)
  }

  @Test func aTornBlockIsWhatItWas() {
    for count in 1..<Self.lines.count {
      let found = blocks(Array(marked(7).prefix(count)))
      #expect(found.count == 1)
      #expect(found.first?.isWhole == false)
    }
    #expect(blocks(Array(marked(7).dropFirst())).isEmpty)
    #expect(blocks(["postmortem[7]: crash-summary 2 x86_64"] + marked(7).dropFirst()).isEmpty)
  }

  @Test func everyPrefixAndEveryChangedByteIsReadWithoutATrap() {
    let whole = Array(marked(4711).joined(separator: "\n").utf8)
    var generator = Numbers(state: 42)
    for _ in 0..<2000 {
      var bytes = Array(whole.prefix(Int(generator.next() % UInt64(whole.count + 1))))
      for _ in 0..<8 where !bytes.isEmpty {
        bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(
          truncatingIfNeeded: generator.next())
      }
      var reader = LoggedSummaryReader()
      for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        reader.take(Array(line))
      }
      let symbolicator = LoggedSummarySymbolicator()
      for block in reader.finish() {
        #expect(!symbolicator.text(of: block).contains("\u{1B}"))
        #expect(!symbolicator.report(of: block).json().contains("\u{1B}"))
      }
    }
  }

  @Test func whatOneProcessMayAddIsBounded() {
    var lines = Array(marked(1).dropLast())
    for index in 0..<100_000 { lines.append("postmortem[1]: frame \(index) 0+0x1 x") }
    let found = blocks(lines)
    #expect(found.count == 1)
    #expect((found.first?.frames.count ?? 0) < 1000)
    let many = blocks((1...1000).map { "postmortem[\($0)]: crash-summary 1 x86_64" })
    #expect(many.count == 1000)
  }

  @Test func whatIsNoEscapeStaysAsItIs() {
    #expect(LoggedSummary.unescaped(#"\q \x \x4 \xzz \"#) == #"\q \x \x4 \xzz \"#)
    #expect(LoggedSummary.unescaped(#"\xc3\xbc"#) == "ü")
  }

  private struct Numbers {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
  }
}
