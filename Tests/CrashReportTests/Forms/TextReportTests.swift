import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashReport

/// The text for terminals of several widths.
@Suite struct TextReportTests {
  @Test(arguments: [1, 40, 80, 200]) func fitsTheWidth(_ width: Int) throws {
    var report = SampleReport.report(word: "word")
    report.message = String(repeating: "several words ", count: 40)
    for index in report.threads.indices { report.threads[index].trace.frames[2].trust = .scan }
    let lines = TextReport.text(of: report, width: width).split(separator: "\n")
    let limit = max(width, 40)
    // The message is wrapped and uses the width.
    let message = lines.prefix { $0.hasPrefix("several") || $0.hasPrefix("words") }
    #expect(message.allSatisfy { $0.count <= limit } && message.contains { $0.count > limit - 10 })
    #expect(message.joined(separator: " ").split(separator: " ").count == 80)
    // Frames take one line or two; no part of them is lost.
    let frames = lines.filter { $0.hasPrefix("  #") || $0.hasPrefix("       at ") }
    #expect(frames.allSatisfy { $0.count <= limit })
    #expect(frames.count == (limit == 40 ? 18 : 9))
    // The tenth is the register that points there.
    #expect(lines.count { $0.contains("word+0x") && !$0.hasPrefix("Sig") } == 10)
    #expect(lines.count { $0.hasSuffix("[scan]") } == 3)
    #expect(!lines.contains { $0.hasSuffix(" ") })
  }

  @Test func colourChangesNoWord() {
    let report = SampleReport.report(word: "word")
    let plain = TextReport.text(of: report)
    let colored = TextReport.text(of: report, color: true)
    #expect(!plain.contains("\u{1B}"))
    #expect(colored.contains("\u{1B}[1m"))
    #expect(colored.replacing(/\u{1B}\[[0-9]*m/, with: "") == plain)
  }

  @Test func namesCannotSteerTheTerminal() {
    let text = TextReport.text(of: SampleReport.report(word: "a\u{1B}[2J\u{202E}\r\nb\u{7}"))
    for scalar in ["\u{1B}", "\u{202E}", "\r", "\u{7}"] { #expect(!text.contains(scalar)) }
  }

  @Test(arguments: [80, 120]) func registersSayWhereTheyPoint(_ width: Int) throws {
    let report = SampleReport.report(word: "word")
    let lines = TextReport.text(of: report, width: width).split(separator: "\n").map(String.init)
    let start = try #require(lines.firstIndex(of: "Registers:"))
    let rip = "   rip 0000000000400010  word+0x10 r-x"
    let code = "10 11 12 13 14 15 16 17  18 19 1a 1b 1c 1d 1e 1f  ................"
    let rsp = "   rsp 00007f0000000100  anonymous memory rw-"
    let text = "3c 73 63 72 69 70 74 3e  61 6c 65 72 74 28 31 29  <script>alert(1)"
    let expected =
      width == 80
      ? [rip, "       " + code, rsp, "       " + text]
      : [rip + "  " + code, rsp + "  " + text]
    #expect(Array(lines[(start + 1)...].prefix(expected.count)) == expected)
    // Those that point nowhere share lines.
    #expect(lines.contains { $0.contains("rax 0000000000000000") && $0.contains("rbx ") })
    #expect(lines.contains { $0.contains(" gs 0000000000000000") })
  }

  @Test func registersOfAStackNameItsThread() {
    var report = SampleReport.report(word: "word")
    report.snapshot.threads[0].stackRange = AddressRange(
      from: Address(0x7F00_0000_0000), to: Address(0x7F00_0001_0000))
    #expect(TextReport.text(of: report).contains("rsp 00007f0000000100  stack of thread 100 rw-"))
  }
}
