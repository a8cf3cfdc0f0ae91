import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Whether a runtime's last message belongs to the crashed thread, judged by the thread's stack.
@Suite struct MessageOwnerTests {
  private static let thrown = "Fatal error: Error raised at top level: Shop.Failure()"
  private static let reported = "Shop/cart.swift:12: Fatal error: no price"

  private func snapshot(_ message: String?, _ library: String? = nil, signal: Int32 = 4)
    -> ProcessSnapshot
  {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.processID = 100
    snapshot.process.executablePath = "/srv/shop"
    snapshot.modules = [
      "/srv/shop", "/usr/lib/libc.so.6", "/opt/libswiftCore.so", "/usr/lib/libstdc++.so.6.0.30",
    ].enumerated()
      .map { ModuleSnapshot(address: Address(UInt64($0) << 20), size: 1 << 20, path: $1) }
    var exception = ExceptionSnapshot(threadID: 101)
    exception.signal = signal
    exception.code = signal == 6 ? -6 : 2
    var information = [UInt8](repeating: 0, count: 128)
    information[16] = 100
    exception.signalInfo = information
    exception.fatalMessage = message
    exception.abortMessage = library
    snapshot.exception = exception
    snapshot.threads = [ThreadSnapshot(id: 101)]
    return snapshot
  }

  private func own(_ function: String?, file: String? = nil, inlined: Bool = false) -> StackFrame {
    StackFrame(
      function, inlined: inlined, module: 0, line: file.map { SourceLocation(file: $0, line: 3) })
  }

  private func c(_ function: String?) -> StackFrame { StackFrame(function, module: 1) }

  private func swift(_ function: String?) -> StackFrame { StackFrame(function, module: 2) }

  private static let failure = "Swift._assertionFailure(_: Swift.StaticString) -> Swift.Never"

  private func result(
    _ snapshot: ProcessSnapshot, _ frames: [StackFrame]
  ) -> (message: String?, other: [String], finding: Finding?) {
    let finder = CauseFinder(of: snapshot, trace: StackTrace(frames))
    return (finder.message, finder.otherMessages, finder.finding)
  }

  /// Main throws at top level while another thread traps, and the trap's report contains the text of the throw.
  @Test(arguments: [
    ["Shop.add(Swift.Int) -> Swift.Int", "Shop.run() -> ()"],
    ["crash_builtin_trap", "Shop.run() -> ()"],
    ["Swift runtime failure: arithmetic overflow", "Shop.add(Swift.Int) -> Swift.Int"],
  ])
  func aTrapThatWritesNothingHasNoMessage(_ functions: [String]) throws {
    let frames = functions.map {
      own($0, inlined: $0.hasPrefix("Swift runtime failure"))
    }
    let (message, other, finding) = result(snapshot(Self.thrown), frames)
    #expect(message == nil && other == [Self.thrown])
    #expect(finding?.kind != "swift-uncaught-error")
    var report = CrashReport(snapshot: snapshot(Self.thrown), symbolicating: false)
    report.otherMessages = other
    report.message = nil
    #expect(
      report.head(isFull: false).paragraphs.last
        == "Also written, by another thread or earlier: \(Self.thrown)")
  }

  @Test func aMemoryErrorHasNoMessage() {
    let (message, other, finding) = result(
      snapshot(Self.thrown, signal: 11), [swift("swift_retain"), own("Shop.f() -> ()")])
    #expect(message == nil && other == [Self.thrown])
    #expect(finding?.kind != "swift-uncaught-error")
  }

  /// In 1 of 351 pairs of crashes, the report had a wrong message.
  @Test func aCallToNowhereHasNoMessage() {
    let nowhere = StackFrame(nil, module: nil)
    let (message, other, _) = result(
      snapshot(Self.thrown, signal: 11), [nowhere, own("crash_null_call"), own("Shop.f() -> ()")])
    #expect(message == nil && other == [Self.thrown])
  }

  /// In 3 of 1,000 pairs of crashes, the report had a wrong message: the C++ library is stripped.
  @Test(arguments: ["__cxa_throw", "__cxa_pure_virtual"])
  func theCxxLibraryWritesNoMessageOfSwifts(_ function: String) {
    func cxx(_ function: String?) -> StackFrame { StackFrame(function, module: 3) }
    let frames = [
      c("raise"), c("abort"), cxx(nil), cxx(nil), cxx("std::terminate()"), cxx(function),
      own("crash_cxx"), own("Shop.f() -> ()"),
    ]
    let (message, other, finding) = result(snapshot(Self.reported, signal: 6), frames)
    #expect(message == nil && other == [Self.reported])
    #expect(finding?.kind != "swift-fatal-error")
  }

  @Test func whoFailedItselfHasNotTheOthersText() {
    let frames = [swift(Self.failure), own("Shop.f() -> ()", file: "/src/cart.swift")]
    // The other thread threw.
    #expect(result(snapshot(Self.thrown), frames).message == nil)
    // The other thread failed in another file, or the program passes another file name on.
    let elsewhere = result(snapshot("Shop/till.swift:9: Fatal error: x"), frames)
    #expect(elsewhere.finding?.certainty == .likely)
    let main = [swift(Self.failure), swift("swift_errorInMain"), own("Shop_main")]
    #expect(result(snapshot(Self.reported), main).message == nil)
  }

  /// The fatal error of another thread in the same file as a violation of exclusivity.
  @Test func theRuntimesOwnFunctionWritesNoSourceFile() {
    let stack = ["swift::fatalErrorv", "swift::fatalError", "swift_beginAccess"].map(swift)
    let place = own("Shop.f() -> ()", file: "/src/cart.swift")
    let other = result(snapshot(Self.reported, signal: 6), stack + [place])
    #expect(other.message == nil && other.other == [Self.reported])
    let conflict = "Fatal access conflict detected."
    let found = result(snapshot(conflict, signal: 6), stack + [place])
    #expect(found.message == conflict && found.finding?.certainty == .certain)
    let writer = result(snapshot(Self.reported), [swift(Self.failure), place])
    #expect(writer.message == Self.reported)
  }

  @Test func whoWroteItHasIt() {
    let cases: [(String, [StackFrame])] = [
      (Self.reported, [swift(Self.failure), own("Shop.f() -> ()", file: "/src/Shop/cart.swift")]),
      (Self.reported, [swift(Self.failure), own("Shop.f() -> ()")]),
      (Self.thrown, [swift(Self.failure), swift("swift_errorInMain"), own("Shop_main")]),
      (
        "Swift/ContiguousArrayBuffer.swift:600: Fatal error: Index out of range",
        [
          swift(Self.failure), swift("Swift.Array.subscript.getter : A"),
          own("Shop.f() -> ()", file: "/src/cart.swift"),
        ]
      ),
      (
        "_Concurrency/CheckedContinuation.swift:169: Fatal error: SWIFT TASK CONTINUATION MISUSE",
        [swift(Self.failure), own("Shop.f() -> ()", file: "/src/cart.swift")]
      ),
      // The function was specialized into the program, or linked statically.
      (
        Self.reported,
        [
          own("function signature specialization <Arg[1] = Dead> of " + Self.failure),
          own("Shop.f() -> ()"),
        ]
      ),
    ]
    for (message, frames) in cases {
      let found = result(snapshot(message), frames)
      #expect(found.message == message && found.other == [])
      #expect(found.finding?.certainty == .certain, "\(frames)")
    }
    let aborted = [
      c("abort"), swift("swift::fatalError(unsigned int, char const*, ...)"), own("f"),
    ]
    #expect(
      result(snapshot("Fatal error: x", signal: 6), aborted).finding?.kind == "swift-fatal-error")
  }

  /// The runtime appends the messages of threads that fail at the same time.
  @Test func ofSeveralMessagesTheCrashingThreadWroteTheOneOfItsLine() {
    let mine = "Shop/cart.swift:3: Fatal error: Unexpectedly found nil\nin the cart"
    let frames = [swift(Self.failure), own("Shop.f() -> ()", file: "/src/Shop/cart.swift")]
    for text in ["\(Self.reported)\n\(mine)\n", "\(mine)\n\(Self.reported)\n"] {
      let found = result(snapshot(text), frames)
      #expect(found.message == mine && found.other == [Self.reported])
      #expect(found.finding?.kind == "swift-unwrapped-nil" && found.finding?.certainty == .certain)
    }
    // Threads that fail at the same line write the same message.
    let same = result(snapshot("\(mine)\n\(mine)\n"), frames)
    #expect(same.message == mine && same.other == [])
    // The text of many threads is cut off.
    let cut = result(snapshot("\(mine)\n\(mine)\n\(mine.prefix(40))"), frames)
    #expect(cut.message == mine && cut.other == [])
    // Only the function on the stack shows which message it is.
    let main = [swift(Self.failure), swift("swift_errorInMain"), own("Shop_main")]
    let thrown = result(snapshot("\(Self.reported)\n\(Self.thrown)\n"), main)
    #expect(thrown.message == Self.thrown && thrown.other == [Self.reported])
  }

  /// No message is better than a wrong one, which would cost the reader more time.
  @Test func ofSeveralMessagesNoneIsTakenWithoutALine() {
    let second = "Shop/cart.swift:40: Fatal error: Unexpectedly found nil"
    let frames = [swift(Self.failure), own("Shop.f() -> ()", file: "/src/Shop/cart.swift")]
    let found = result(snapshot("\(Self.reported)\n\(second)\n"), frames)
    #expect(found.message == nil && found.other == [Self.reported, second])
    #expect(found.finding?.kind != "swift-fatal-error")
  }

  /// Threads that crash together by an unowned reference write messages without a line.
  @Test func ofSeveralMessagesWithObjectsTheCrashingThreadWroteTheOneOfItsObject() {
    let messages = (1...3).map {
      "Fatal error: Attempted to read an unowned reference but object 0x7f000000\($0)bc0 was already"
        + " destroyed"
    }
    let frames = [c("abort"), swift("swift::swift_abortRetainUnowned"), own("Shop.f() -> ()")]
    func found(rbx: UInt64 = 0, stack: UInt64 = 0) -> (String?, [String]) {
      var snapshot = snapshot(messages.joined(separator: "\n") + "\n", signal: 6)
      var context = X86_64Context()
      (context.rsp, context.rbx) = (0x7FFF_0000_0100, rbx)
      snapshot.exception?.context = .x86_64(context)
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: stack >> (8 * $0)) }
      snapshot.memory = MemorySnapshot(
        joining: [MemoryRegion(address: 0x7FFF_0000_0208, bytes: bytes)])
      let result = result(snapshot, frames)
      return (result.message, result.other)
    }
    #expect(found(rbx: 0x7F00_0000_2BC0) == (messages[1], [messages[0], messages[2]]))
    #expect(found(stack: 0x7F00_0000_3BC0) == (messages[2], Array(messages[..<2])))
    // Two objects at hand, or none.
    #expect(found(rbx: 0x7F00_0000_2BC0, stack: 0x7F00_0000_3BC0) == (nil, messages))
    #expect(found() == (nil, messages))
  }

  @Test func withoutAStackOrNamesItIsLikely() {
    for frames in [[], [own(nil), own(nil)], [swift(nil), own("Shop.f() -> ()")]] {
      let found = result(snapshot(Self.reported), frames)
      #expect(found.message == Self.reported && found.finding?.certainty == .likely)
    }
  }

  /// One thread's assert fails while another calls abort().
  @Test func abortAloneWritesNothing() {
    let words = "app: a.c:3: f: Assertion `x' failed."
    let library = snapshot(nil, words, signal: 6)
    let plain = result(library, [c(nil), c("raise"), c("abort"), own("Shop.f() -> ()")])
    #expect(plain.message == nil && plain.other == [words])
    #expect(plain.finding?.kind == "abort")
    let alone = result(library, [own("abort"), own("__assert_fail"), own("f")])
    #expect(alone.finding?.kind == "c-assertion")
    #expect(result(library, [own("abort"), own("f")]).finding?.kind == "abort")
  }

  /// While libc's message of another thread is kept, a signal that is not of abort() is not about it.
  @Test func anotherSignalThanThatOfAbortHasNoMessage() {
    let words = "free(): double free detected in tcache 2"
    for (signal, function) in [(13 as Int32, "write"), (11, "memcpy"), (7, "read"), (8, "free")] {
      let frames = [c(function), own("Shop.f() -> ()")]
      let found = result(snapshot(nil, words, signal: signal), frames)
      #expect(found.message == nil && found.other == [words], "\(signal)")
    }
    let aborting = [c("raise"), c("abort"), c(nil), c("free"), own("Shop.f() -> ()")]
    #expect(result(snapshot(nil, words, signal: 11), aborting).message == words)
  }

  private static let texts = [
    "__assert_fail": "app: a.c:3: f: Assertion `x' failed.",
    "__assert_perror_fail": "app: a.c:3: f: Unexpected error: Invalid argument.",
    "__malloc_assert": "Fatal glibc error: malloc assertion failure in sysmalloc: x",
    "__libc_assert_fail": "Fatal glibc error: malloc.c:2599 (sysmalloc): assertion failed: x",
    "free": "free(): double free detected in tcache 2",
    "__stack_chk_fail": "*** stack smashing detected ***: terminated",
    "__chk_fail": "*** buffer overflow detected ***: terminated",
    "____longjmp_chk": "*** longjmp causes uninitialized stack frame ***: terminated",
  ]

  /// In 1 of 1,000 pairs of crashes, a report of a double free had the message of a smashed stack.
  @Test(arguments: texts.keys.sorted())
  func aTextOfTheLibraryIsItsWriters(_ function: String) throws {
    let text = try #require(Self.texts[function])
    let frames = [c("abort"), c(nil), c(function), own("Shop.f() -> ()")]
    let found = result(snapshot(nil, text, signal: 6), frames)
    #expect(found.message == text && found.finding?.certainty == .certain)
    // The last three assertion functions have the same name for several texts.
    for (writer, other) in Self.texts
    where other != text && !(function.contains("assert") && writer.contains("assert")) {
      let found = result(snapshot(nil, other, signal: 6), frames)
      // The name `free` alone does not show whether `free` or an assertion of the allocator wrote the message.
      if function == "free", writer != "__assert_fail", writer.contains("assert") { continue }
      #expect(found.message == nil && found.other == [other], "\(other)")
    }
  }
}
