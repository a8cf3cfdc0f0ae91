import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The HTML page, parsed by Python's parser.
@Suite struct HTMLReportTests {
  /// Verified in Chromium 156: a page printed to PDF has all folded stacks, and frame number 104832 is on one
  /// line.
  @Test func printedPagesUnfoldAndLongFrameNumbersStayWhole() {
    let style = HTMLStyle.text.description
    // Browsers hide the folded contents in this box, whatever the `display` of the elements in it.
    #expect(
      style.contains(
        "@media print{nav{display:none}details>*{display:block}details::details-content{content-visibility:visible}}"
      ))
    let number = style.split(separator: "\n").first { $0.hasPrefix(".stack b{") }
    #expect(number?.contains("white-space:nowrap") == true && number?.contains("flex:none") == true)
  }

  /// Verified in Chromium 156: without its class, the words would touch the value.
  @Test func wordsOnARegisterStandApartFromItsValue() throws {
    var snapshot = SampleReport.report(word: "word").snapshot
    var context = X86_64Context()
    context.rip = 0x40_0010
    context.r10 = 0xB4B6_47F2_571E_6E27
    snapshot.exception?.context = .x86_64(context)
    snapshot.threads[0].context = .x86_64(context)
    let page = HTMLReport.text(of: CrashReport(snapshot: snapshot, symbolicating: false))
    #expect(
      page.contains(
        "<code>b4b647f2571e6e27</code><span class=\"at\">not a possible address</span>"), "\(page)")
  }

  @Test(.needs(.python3)) func isWholeAndNeedsNothingElse() async throws {
    for report in [
      SampleReport.report(word: "word"),
      CrashReport(snapshot: ProcessSnapshot(architecture: .arm64), symbolicating: false),
    ] {
      let page = try await HTMLPage.parse(HTMLReport.text(of: report))
      #expect(page.errors.isEmpty, "\(page.errors)")
      #expect(page.tags.first == "html" && page.tags.last == "/html")
    }
  }

  /// Text that looks like markup does not change any tag of the page, wherever it occurs.
  @Test(
    .needs(.python3),
    arguments: [
      "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</style></pre></ol><b>",
      "' onclick='alert(1)", "<!--", "&lt;&#60;", "<![CDATA[", "</title><base href=//x>",
    ])
  func hostileTextStaysText(_ word: String) async throws {
    let plain = try await HTMLPage.parse(HTMLReport.text(of: SampleReport.report(word: "word")))
    let page = try await HTMLPage.parse(HTMLReport.text(of: SampleReport.report(word: word)))
    #expect(page.errors.isEmpty, "\(page.errors)")
    #expect(page.tags == plain.tags)
    // The text itself is still on the page.
    #expect(page.texts.contains { $0.contains(word) })
  }

  /// The titles of several reports' tabs differ, and each thread has an anchor.
  @Test(.needs(.python3)) func titlesAndThreadsTellApart() async throws {
    var report = SampleReport.report(word: "release/victim", threads: 3)
    report.threads[3].trace = report.threads[1].trace
    report.place = "read(_:) at main.swift:21"
    report.snapshot.process.product = nil
    report.cause = Finding(cause: .nullDereference(.read, 0), evidence: [])
    let page = try await HTMLPage.parse(HTMLReport.text(of: report))
    #expect(page.texts.first == "read(_:) main.swift:21: null dereference - victim")
    #expect(page.errors.isEmpty, "\(page.errors)")
    #expect(Set((100...103).map { "thread-\($0)" }).isSubset(of: page.anchors), "\(page.anchors)")
    #expect(
      page.anchors.isSuperset(of: [
        "threads", "registers", "modules", "breadcrumbs-of-what-crashed",
      ]))
    report.place = nil
    report.snapshot.end = RunEnd()
    report.snapshot.end?.kind = .outOfMemory
    let end = try await HTMLPage.parse(HTMLReport.text(of: report))
    #expect(end.texts.first == "out of memory - victim")
  }

  @Test func controlCharactersAreShown() {
    let html = HTMLReport.text(of: SampleReport.report(word: "a\u{202E}b\u{0}c\u{1B}[2J"))
    for scalar in ["\u{202E}", "\u{0}", "\u{1B}"] { #expect(!html.contains(scalar)) }
    #expect(html.contains("a\\u{202e}b\\u{0}c\\u{1b}[2J"))
  }

  /// Signal, code, sender and reason come before the stack, and the crashing thread is not folded.
  @Test(.needs(.python3)) func firstThingsComeFirst() async throws {
    var report = SampleReport.report(word: "reason")
    var information = [UInt8](repeating: 0, count: 128)
    (information[16], information[20]) = (7, 8)
    report.snapshot.exception?.signalInfo = information
    report.snapshot.exception?.code = 0
    let page = try await HTMLPage.parse(HTMLReport.text(of: report))
    let heading = try #require(page.texts.firstIndex { $0.hasPrefix("Thread 100") })
    let first = page.texts[..<heading].joined(separator: "\n")
    for words in ["reason", "SIGSEGV (11), SI_USER", "0x18", "process 7 of user 8"] {
      #expect(first.contains(words), "no \(words) in\n\(first)")
    }
    let stacks = page.tags.indices.filter { page.tags[$0] == "ol.stack" }
    // The stacks of the crash, of the throw, and of two other threads.
    #expect(stacks.count == 4)
    func isFolded(_ index: Int) -> Bool {
      let before = page.tags[..<index]
      return before.count { $0 == "details" } > before.count { $0 == "/details" }
    }
    #expect(stacks.map(isFolded) == [false, false, true, true])
  }

  /// The place with missing names says that a file is from another build.
  @Test func saysWhyNamesAreMissing() throws {
    var report = SampleReport.report(word: "word")
    report.symbolNotes = ["word is not the same build as in the dump"]
    let note = "word is not the same build as in the dump"
    func isAboveTheFacts(_ text: String, _ fact: String) -> Bool {
      text.split(separator: fact, maxSplits: 1).first?.contains(note) ?? false
    }
    #expect(!isAboveTheFacts(HTMLReport.text(of: report), "<h2 id=\"process\">"))
    report.threads[0].trace.frames[1].symbol = nil
    #expect(isAboveTheFacts(HTMLReport.text(of: report), "<h2 id=\"process\">"))
    #expect(isAboveTheFacts(TextReport.text(of: report), "Registers:"))
  }

  @Test(.needs(.python3)) func threadsOfOneStackAreOne() async throws {
    var report = SampleReport.report(word: "w", threads: 3)
    report.threads[3].trace = report.threads[1].trace
    let page = try await HTMLPage.parse(HTMLReport.text(of: report))
    #expect(page.tags.count { $0 == "ol.stack" } == 4)
    #expect(page.texts.contains { $0.contains("2 threads with one stack") })
    // In the text form, each thread has its own title.
    let text = TextReport.text(of: report)
    #expect(text.contains("\nThread 103 \"w\": the stack of thread 101\n"))
  }

  /// A thousand threads with 256 frames each, which would be some 60 MiB.
  @Test func hugeReportsAreBounded() throws {
    let report = SampleReport.report(word: "word", threads: 1000, frames: 256)
    let html = HTMLReport.text(of: report)
    #expect(html.utf8.count < 8 << 20)
    #expect(html.contains("256 more frames are only in the JSON."))
    #expect(html.contains("Thread 1100 "))
    let few = SampleReport.report(word: "word", threads: 100, frames: 1)
    let many = HTMLReport.text(of: few, threadsSize: 10_000)
    #expect(many.utf8.count < HTMLReport.text(of: few).utf8.count - 10_000)
    #expect(many.contains("more threads are only in the JSON."))
    var long = SampleReport.report(word: "word")
    long.message = String(repeating: "<", count: 1 << 20)
    let cut = HTMLReport.text(of: long)
    #expect(cut.utf8.count < 1 << 20)
    #expect(cut.contains("(cut off)"))
    var noted = SampleReport.report(word: "word")
    noted.snapshot.client.breadcrumbs = Array(
      repeating: .init(text: String(repeating: "x", count: 1000)), count: 4000)
    let listed = HTMLReport.text(of: noted)
    #expect(listed.utf8.count < 3 << 20)
    #expect(listed.contains("more lines are only in the JSON."))
  }

  @Test(arguments: [Int.min, -1, 0, 1, Int.max])
  func numbersThatFitNothing(_ number: Int) throws {
    var report = SampleReport.report(word: "w")
    let value = UInt64(bitPattern: Int64(number))
    report.threads[0].trace.frames[0].sourceLocation?.line = number
    report.threads[0].trace.frames[0].moduleIndex = number
    report.snapshot.exception?.address = Address(value)
    report.snapshot.modules[0].address = Address(value)
    report.snapshot.modules[0].size = value
    report.snapshot.mappings[0].range = AddressRange(start: Address(value), byteCount: value)
    report.snapshot.process.launchTime = Int64(number)
    #expect(HTMLReport.text(of: report).hasSuffix("</html>\n"))
    #expect(TextReport.text(of: report).contains("SIGSEGV"))
    #expect(try !report.jsonObject.isEmpty)
  }
}
