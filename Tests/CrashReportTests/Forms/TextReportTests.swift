import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The text form for terminals of several widths.
@Suite struct TextReportTests {
  @Test(arguments: [1, 40, 80, 200]) func fitsTheWidth(_ width: Int) throws {
    var report = SampleReport.report(word: "word")
    report.message = String(repeating: "several words ", count: 40)
    report.otherMessages = [String(repeating: "other words ", count: 40)]
    for index in report.threads.indices { report.threads[index].trace.frames[2].trust = .scan }
    let lines = TextReport.text(of: report, isFull: true, width: width).split(separator: "\n")
    let limit = max(width, 40)
    // The message is wrapped at 120 columns or more; the following lines use the width.
    let message = lines.prefix { $0.hasPrefix("several") || $0.hasPrefix("words") }
    #expect(message.allSatisfy { $0.count <= max(limit, 120) })
    #expect(message.contains { $0.count > max(limit, 120) - 10 })
    #expect(message.joined(separator: " ").split(separator: " ").count == 80)
    let others = lines.drop { $0 != "Also written," && !$0.hasPrefix("Also written,") }
      .prefix {
        $0.hasPrefix("Also") || $0.hasPrefix("earlier") || $0.hasPrefix("other")
          || $0.hasPrefix("words")
      }
    #expect(others.allSatisfy { $0.count <= limit })
    #expect(others.joined(separator: " ").split(separator: " ").count == 87)
    // A frame takes one or two lines, and is complete.
    let frames = lines.filter { $0.hasPrefix("  #") || $0.hasPrefix("       at ") }
    #expect(frames.allSatisfy { $0.count <= limit })
    #expect(frames.count == (limit == 40 ? 20 : 10))
    // One is the throw, and one the register that points there.
    #expect(lines.count { $0.contains("word+0x") && !$0.hasPrefix("Sig") } == 11)
    #expect(lines.count { $0.hasSuffix("[scan]") } == 3)
    #expect(!lines.contains { $0.hasSuffix(" ") })
  }

  @Test func aFrameWithALineTakesOneLine() {
    var report = SampleReport.report(word: "word")
    report.threads[0].trace.frames[2].sourceLocation = nil
    report.threads[0].trace.frames[2].symbol?.offset = 12
    report.threads[1].trace.frames[0].symbol = nil
    report.threads[1].trace.frames[0].sourceLocation = nil
    let text = TextReport.text(of: report, width: 40)
    let frames = text.split(separator: "\n").filter { $0.hasPrefix("  #") }
    #expect(
      frames.prefix(5) == [
        "  #0   word at word:0", "  #1   word at word:1  [inlined]", "  #1   word + 12  word",
        // The frames of the throw, and then the next thread.
        "  #0   word at word:7", "  #0   ??  word+0x1000  0x401000",
      ], "\(text)")
    #expect(frames.count == 10)
    let full = TextReport.text(of: report, isFull: true, width: 200)
    #expect(full.contains("  #0   0x000000400000 word at word:0  word+0x0\n"), "\(full)")
    #expect(full.contains("  #1   0x000000400002 word + 12  word+0x2\n"))
  }

  /// The most important parts come first, in the order of Docs/Reference/Reports.md.
  @Test func whatThePersonInNeedReadsComesFirst() throws {
    var report = SampleReport.report(word: "word")
    report.message = "the message"
    report.place = "App.run() at main.swift:3"
    report.threads[0].contexts = [.init(threadID: 100, name: "request-id", value: "8C2E")]
    let text = TextReport.text(of: report)
    #expect(text.hasPrefix("the message\nin App.run() at main.swift:3\nrequest-id = 8C2E\n"))
    let order = [
      "\nSignal ", "\nProduct ", "\nReport ", "\nAnnotations:", "\nBreadcrumbs of what crashed:",
      "\nThread 100 ", "\nThe error was thrown", "\nThread 101 ",
      "\nThread 102 ",
      "\nRegisters:", "\nAttachments:", "\nModules on the stacks", "\nCapture: ",
    ]
    var rest = text[...]
    for part in order where part != "\nReport " {
      let found = try #require(rest.firstRange(of: part), "no \(part) in\n\(rest)")
      rest = rest[found.upperBound...]
    }
    // The request's ID is shown once only.
    #expect(text.ranges(of: "8C2E").count == 1)
    let page = HTMLReport.text(of: report)
    let place = try #require(page.firstRange(of: "in App.run() at main.swift:3"))
    let request = try #require(page.firstRange(of: "8C2E"))
    let breadcrumbs = try #require(page.firstRange(of: "<h2 id=\"breadcrumbs-of-what-crashed\">"))
    let stack = try #require(page.firstRange(of: "<h2 id=\"thread-100\">"))
    let others = try #require(page.firstRange(of: "<h2 id=\"threads\">"))
    let registers = try #require(page.firstRange(of: "<h2 id=\"registers\">"))
    // On the page, the stack comes before the program's own data, so that it is on the first screen.
    let starts = [place, request, stack, breadcrumbs, others, registers].map(\.lowerBound)
    #expect(starts == starts.sorted())
  }

  /// For a stripped program, for a stack without the program's code, and for a run without a dump.
  @Test func thePlaceIsTheSecondLine() {
    func secondLine(_ change: (inout CrashReport) -> Void) -> Substring? {
      var report = SampleReport.report(word: "/srv/shop")
      report.message = "one line"
      report.thrown = nil
      change(&report)
      return TextReport.text(of: report).split(separator: "\n").dropFirst().first
    }
    #expect(secondLine { $0.place = "f() at a.swift:1" } == "in f() at a.swift:1")
    #expect(
      secondLine {
        for index in $0.threads.indices {
          for frame in $0.threads[index].trace.frames.indices {
            $0.threads[index].trace.frames[frame].symbol = nil
            $0.threads[index].trace.frames[frame].sourceLocation = nil
          }
        }
        $0.place = nil
      } == "in shop+0x0 (no symbols)")
    #expect(
      secondLine {
        $0.snapshot.modules[0].path = "/usr/lib/libc.so.6"
        $0.threads[0].trace.frames[0] = StackFrame("abort")
        // The verdict knows which modules are the program's own.
        $0.verdict = Verdict(of: $0.snapshot)
        ($0.message, $0.place, $0.thrown) = ("one line", nil, nil)
      } == "in abort (libc.so.6)")
    #expect(
      secondLine {
        $0.snapshot.end = RunEnd()
        $0.snapshot.end?.kind = .killed
        $0.place = nil
        $0.snapshot.process.product = "Shop"
        $0.snapshot.process.version = "1.2"
      } == "Shop, 1.2, /srv/shop, 123 ms after startHandler")
  }

  /// If a check in a dependency fails, the place is in the dependency, not in Swift's function that stops the
  /// process.
  @Test func aCrashInADependencyHasItsPlaceThere() {
    var report = SampleReport.report(word: "/srv/shop")
    report.message = "one line"
    report.thrown = nil
    report.place = nil
    let path = "/src/.build/checkouts/nio/Sources/Loop.swift"
    report.threads[0].trace.frames = [
      StackFrame("Swift._assertionFailure(_:_:file:line:flags:) -> ()", module: 0),
      StackFrame(
        "NIO.Loop.run() -> ()", module: 0, line: SourceLocation(file: path, line: 12)),
    ]
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(lines[1] == "in NIO.Loop.run() at Loop.swift:12 (shop)")
  }

  /// A message's file is left out if it is in Swift's library, or if the place already names it.
  @Test(arguments: [
    ("Swift/ContiguousArrayBuffer.swift:692: Fatal error: Index out of range", true, true),
    ("_Concurrency/CheckedContinuation.swift:169: Fatal error: Index out of range", false, true),
    ("Shop/Cart.swift:12: Fatal error: Index out of range", true, true),
    ("Shop/Cart.swift:12: Fatal error: Index out of range", false, false),
    ("Shop/Cart.swift:13: Fatal error: Index out of range", true, false),
    ("Shop/Art.swift:12: Fatal error: Index out of range", true, false),
    ("Swift/Cart.swift: Index out of range", true, false),
  ])
  func theHeadlineNamesNoFileInVain(_ message: String, _ hasPlace: Bool, _ isCut: Bool) throws {
    var report = SampleReport.report(word: "word")
    report.message = message
    report.place = hasPlace ? "Cart.first() at Cart.swift:12" : nil
    let line = isCut ? "Fatal error: Index out of range" : message
    #expect(TextReport.text(of: report).hasPrefix(line + "\n"))
    #expect(HTMLReport.text(of: report).contains(">\(line)</h1>"))
    #expect(try report.jsonObject["message"] as? String == message)
  }

  @Test func overflowsHaveThePlaceInTheSecondLineToo() {
    var report = SampleReport.report(word: "word")
    report.message = nil
    report.place = "walk(_:) at Tree.swift:9"
    let stack = AddressRange(from: Address(0x1000), to: Address(0x9000))
    report.cause = Finding(
      cause: .stackOverflow(
        StackOverflow(
          fault: .access(0xFF0, below: 16, isInGuard: true, frameSize: nil), stack: stack,
          stackPointer: 0xFF0, depth: .init(found: 8040, estimated: 0, isWhole: true), limit: nil,
          recursion: .init(name: "walk(_:)", count: 63, frames: 64))), evidence: [])
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(
      lines.prefix(2) == [
        "Stack overflow: walk(_:) calls itself, 8,040 calls deep.", "in walk(_:) at Tree.swift:9",
      ])
    #expect(lines[2].hasPrefix("The address 0xff0 lies 16 bytes below the stack"))
  }

  @Test func threadsWithTheProgramsCodeComeBeforeTheOthers() throws {
    var report = SampleReport.report(word: "/srv/shop", threads: 3)
    report.snapshot.modules.append(
      ModuleSnapshot(address: 0x50_0000, size: 0x1000, path: "/usr/lib/libc.so.6"))
    report.symbolNotes.append(nil)
    for frame in report.threads[1].trace.frames.indices {
      report.threads[1].trace.frames[frame].moduleIndex = 1
    }
    let text = TextReport.text(of: report)
    let starts = try ["Thread 100 ", "Thread 102 ", "Thread 103 ", "Thread 101 "].map {
      try #require(text.firstRange(of: "\n" + $0), "\(text)").lowerBound
    }
    #expect(starts == starts.sorted())
  }

  @Test(arguments: [
    ("oot.default-qos", " [Dispatch worker, default]"),
    ("-qos.overcommit", " [Dispatch worker, overcommit]"),
    ("r-initiated-qos", " [Dispatch worker, user-initiated]"),
    ("ispatch-manager", " [Dispatch manager]"),
    ("default-qos", " \"default-qos\""),
  ])
  func dispatchsThreadsAreNamedInWords(_ name: String, _ words: String) {
    var report = SampleReport.report(word: "word")
    report.threads[1].snapshot.name = name
    #expect(TextReport.text(of: report).contains("\nThread 101\(words):\n"))
    #expect(
      HTMLReport.text(of: report).contains("Thread 101" + words.replacing("\"", with: "&quot;")))
  }

  /// The text form folds some parts without `--full`; JSON always has all of them.
  @Test func whatIsFoldedIsThereWithFull() {
    var report = SampleReport.report(word: "/srv/shop")
    report.snapshot.modules.append(
      ModuleSnapshot(
        address: 0x50_0000, size: 0x1000, path: "/usr/lib/libc.so.6", buildID: [0xAB, 0xCD]))
    report.symbolNotes.append(nil)
    report.threads[1].trace.frames[0].moduleIndex = 1
    report.threads[1].snapshot.state = "S"
    // The first function of a stripped program has no name.
    for name in ["__libc_start_call_main", "__libc_start_main", nil] {
      report.threads[2].trace.frames.append(StackFrame(name, address: 0x400F00))
    }
    report.snapshot.system.swiftVersion = "6.3"
    report.snapshot.client.breadcrumbs = (1...12).map { .init(text: "step \($0)") }
    report.snapshot.client.breadcrumbsLeft = 40
    report.snapshot.launchAnnotations["long"] = String(repeating: "v", count: 400)
    report.cause = Finding(
      cause: .abort, evidence: [.ownAbort, .processorTime(5_000_000)])
    let text = TextReport.text(of: report)
    let full = TextReport.text(of: report, isFull: true)
    for part in [
      "0x000000401000", "3c 73 63 72", "signal SIGABRT, SI_TKILL", "abcd /usr/lib/libc.so.6",
      "(stopped, state S)", "__libc_start_call_main", "??  shop+0xf00", "Compiler", ": step 2\n",
      String(repeating: "v", count: 400),
    ] {
      #expect(full.contains(part), "no \(part) in\n\(full)")
      #expect(!text.contains(part), "\(part) in\n\(text)")
    }
    for part in [
      "CPU time used: 5 ms", "/usr/lib/libc.so.6", "no build ID /srv/shop",
      "Thread 101 \"/srv/shop\" (sleeping):",
      ": step 12\n", "Other breadcrumbs (last 10 of 40; 2 more in the dump: --full):",
      "vvv... (100 more characters: --full)",
    ] {
      #expect(text.contains(part), "no \(part) in\n\(text)")
    }
  }

  /// A terminal would break long lines anywhere; lines in a pipe are searched, and are not broken.
  @Test func longFactsAreBrokenForATerminalOnly() throws {
    var report = SampleReport.report(word: "word")
    report.snapshot.process.executablePath =
      "/srv/" + String(repeating: "long/", count: 10) + "shop"
    report.snapshot.process.parentProcessID = 1
    let process = "Process    /srv/" + String(repeating: "long/", count: 10) + "shop, process"
    let plain = TextReport.text(of: report, width: 80)
    #expect(plain.contains(process + " 100, parent 1\n"))
    let text = TextReport.text(of: report, width: 80, isForTerminal: true)
    #expect(text.contains(process + "\n           100, parent 1\n"), "\(text)")
    let head = text.split(separator: "\n").drop { !$0.hasPrefix("Signal") }
      .prefix { !$0.hasPrefix("Annotations") }
    #expect(head.allSatisfy { $0.count <= 80 })
  }

  @Test func codeOutsideOfFunctionsHasAName() {
    for (name, file, words) in [
      ("shop_main", "/src/shop/main.swift", "top-level code"),
      ("closure #2 () -> () in shop", "/src/main.swift", "closure #2 in top-level code"),
      ("async_MainTY0_", nil, "top-level code"),
      // A C function, a Swift function, and a closure in another file.
      ("worker_main", "/src/worker.c", "worker_main"),
      ("shop.run_main() -> ()", "/src/main.swift", "shop.run_main()"),
      ("closure #1 () -> () in shop.run() -> ()", "/src/main.swift", "closure #1 in shop.run()"),
    ] as [(String, String?, String)] {
      #expect(FunctionName.readable(name, file: file) == words)
    }
  }

  @Test func colourChangesNoWord() {
    let report = SampleReport.report(word: "word")
    let plain = TextReport.text(of: report)
    let colored = TextReport.text(of: report, color: true)
    #expect(!plain.contains("\u{1B}"))
    #expect(colored.contains("\u{1B}[1m"))
    #expect(colored.replacing(/\u{1B}\[[0-9;]*m/, with: "") == plain)
    // The event is highlighted, because readers look for it.
    #expect(colored.hasPrefix("\u{1B}[1;31mword\u{1B}[0m\n"))
  }

  @Test func namesCannotSteerTheTerminal() {
    let text = TextReport.text(of: SampleReport.report(word: "a\u{1B}[2J\u{202E}\r\nb\u{7}"))
    for scalar in ["\u{1B}", "\u{202E}", "\r", "\u{7}"] { #expect(!text.contains(scalar)) }
  }

  @Test(arguments: [80, 120]) func registersSayWhereTheyPoint(_ width: Int) throws {
    let report = SampleReport.report(word: "word")
    let lines = TextReport.text(of: report, isFull: true, width: width)
      .split(separator: "\n").map(String.init)
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
    // Registers that point nowhere share lines.
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
