import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Causes that crash-lab cannot produce, or that other evidence distinguishes.
@Suite struct FindingTests {
  /// A SIGABRT that process 100 sent to itself, or that process 7 sent.
  private func aborted(
    by sender: UInt8 = 100, change: (inout ProcessSnapshot) -> Void = { _ in }
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.processID = 100
    var exception = ExceptionSnapshot(threadID: 101)
    exception.signal = 6
    exception.code = sender == 100 ? -6 : 0
    var information = [UInt8](repeating: 0, count: 128)
    information[16] = sender
    information[20] = 3
    exception.signalInfo = information
    snapshot.exception = exception
    snapshot.threads = [ThreadSnapshot(id: 101), ThreadSnapshot(id: 100)]
    change(&snapshot)
    return snapshot
  }

  private func finding(
    _ snapshot: ProcessSnapshot, _ symbols: [String] = []
  ) throws -> Finding {
    try #require(snapshot.finding(symbols.map { StackFrame($0, trust: .context) }))
  }

  @Test(arguments: [
    ("malloc(): corrupted top size", "malloc", "heap-corruption"),
    ("corrupted size vs. prev_size", "free", "heap-corruption"),
    ("free(): invalid pointer", "free", "heap-corruption"),
    ("munmap_chunk(): invalid pointer", "free", "heap-corruption"),
    ("*** buffer overflow detected ***: terminated", "__chk_fail", "buffer-overflow"),
    ("*** stack smashing detected ***: terminated", "__stack_chk_fail", "stack-smashing"),
    ("app: a.c:3: f: Assertion `x' failed.", "__assert_fail", "c-assertion"),
    ("*** invalid %N$ use detected ***", "printf", "library-abort"),
  ])
  func libraryMessages(_ message: String, _ writer: String, _ kind: String) throws {
    let found = try finding(
      aborted { $0.exception?.abortMessage = message + "\n" },
      ["abort", "__libc_message", writer, "f"])
    #expect(found.kind == kind)
    #expect(found.certainty == .certain)
    #expect(found.evidence.contains { $0.text.contains(message) })
  }

  @Test(arguments: [
    ("a/b.swift:3: Fatal error: Index out of range", "swift-index-out-of-range"),
    ("Swift/x.swift:9: Fatal error: Unexpectedly found nil while", "swift-unwrapped-nil"),
    // Messages that the program wrote.
    ("a/b.swift:3: Fatal error: buffer overflow, precondition failed", "swift-fatal-error"),
    ("a/b.swift:3: Precondition failed", "swift-precondition"),
    ("a/b.swift:3: Assertion failed: x", "swift-assertion"),
    ("arithmetic overflow", "swift-integer-overflow"),
    ("precondition failure", "swift-precondition"),
    ("Incorrect actor executor assumption; expected x", "swift-actor-isolation"),
    ("Fatal error: Not enough bits to represent the passed value", "swift-integer-overflow"),
    ("", "swift-fatal-error"),
  ])
  func swiftMessages(_ message: String, _ kind: String) {
    #expect(SwiftFailure(message: message).rawValue == kind)
  }

  /// A trap at 0x1000 with the given bytes of code.
  private func trapped(
    _ code: [UInt8], _ architecture: ProcessSnapshot.Architecture = .x86_64,
    in symbols: [String] = []
  ) throws -> Finding {
    var snapshot = ProcessSnapshot(architecture: architecture)
    var exception = ExceptionSnapshot(threadID: 1)
    exception.signal = architecture == .x86_64 ? 4 : 5
    exception.code = 2
    if architecture == .x86_64 {
      var context = X86_64Context()
      context.rip = 0x1000
      exception.context = .x86_64(context)
    } else {
      var context = ARM64Context()
      context.pc = 0x1000
      exception.context = .arm64(context)
    }
    snapshot.exception = exception
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x1000, bytes: code)])
    return try finding(snapshot, symbols)
  }

  /// libdispatch traps by `ud2`, which other failed checks of its do too.
  @Test(arguments: DispatchMisuse.allCases, ["", ".cold.1"])
  func misuseOfDispatchIsToldByTheFunctionThatTrapped(
    _ misuse: DispatchMisuse, _ part: String
  ) throws {
    let callers = ["Shop.serve() -> ()", misuse.rawValue]
    let found = try trapped([0x0F, 0x0B], in: [misuse.rawValue + part] + callers)
    #expect(found.cause == .dispatchMisuse(misuse) && found.certainty == .inferred)
    for other in ["dispatch_group_leave_all", "_dispatch_lane_push"] {
      #expect(try trapped([0x0F, 0x0B], in: [other] + callers).kind == "trap-instruction")
    }
  }

  /// The instructions that `clang -fsanitize=undefined -fsanitize-trap=all` generates.
  @Test(arguments: [
    ([0x67, 0x0F, 0xB9, 0x00], "an addition overflowed"),
    ([0x67, 0x0F, 0xB9, 0x00, 0x0F, 0x0B], "an addition overflowed"),
    ([0x67, 0x0F, 0xB9, 0x40, 0x0C], "a multiplication overflowed"),
    ([0x67, 0x0F, 0xB9, 0x40, 0x12, 0x90], "an index is out of bounds"),
    ([0x67, 0x0F, 0xB9, 0x40, 0x16], "a pointer is null, misaligned or of too small an object"),
    ([0x67, 0x0F, 0xB9, 0x40, 0x7F], "number 127 of clang's list"),
    ([0x67, 0x0F, 0xB9, 0x80, 0xC8, 0, 0, 0], "number 200 of clang's list"),
  ])
  func sanitizerTraps(_ code: [UInt8], _ words: String) throws {
    let found = try trapped(code)
    #expect(found.kind == "undefined-behavior" && found.certainty == .certain)
    #expect(found.text.hasPrefix("A check of ") && found.text.hasSuffix(" failed: \(words)."))
  }

  @Test func sanitizerTrapsOfARM64() throws {
    // The instructions `brk #0x550c` and `brk #1`.
    let found = try trapped([0x80, 0xA1, 0x2A, 0xD4], .arm64)
    #expect(found.text.hasSuffix("a multiplication overflowed."))
    #expect(try trapped([0x20, 0, 0x20, 0xD4], .arm64).kind == "trap-instruction")
    // The instruction `brk #0xf000`, which debuggers and __builtin_debugtrap use.
    #expect(try trapped([0, 0, 0x3E, 0xD4], .arm64).kind == "breakpoint")
  }

  /// arm64's kernel reports the exception syndrome; bit 8 marks cache maintenance, which is not a write.
  @Test(arguments: [
    (0x9200_0006 as UInt64?, "read"), (0x9200_0046, "write"), (0x9200_0146, "read"),
    (0x8200_0006, "execute"), (0x5600_0000, nil), (nil, nil),
  ])
  func accessesOfARM64(_ syndrome: UInt64?, _ access: String?) throws {
    var snapshot = ProcessSnapshot(architecture: .arm64)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code, exception.address) = (11, 1, 0x7000_0000)
    exception.trapErrorCode = syndrome
    var context = ARM64Context()
    context.pc = 0x1000
    exception.context = .arm64(context)
    snapshot.exception = exception
    snapshot.mappings = [
      MemoryMapping(start: 0x1000, end: 0x2000, protection: [.read, .execute], path: "/a")
    ]
    #expect(MemoryAccess(exception)?.rawValue == access)
    let found = try #require(snapshot.finding())
    let words = syndrome.map { "exception syndrome 0x" + String($0, radix: 16) }
    let evidence = found.evidence.map(\.text)
    #expect(
      evidence.contains { $0.hasPrefix(words ?? "exception syndrome") } == (access != nil),
      "\(evidence)")
  }

  @Test func otherInstructionsAreNone() throws {
    // A ud1 with registers, a ud2, and an instruction that the processor does not know.
    #expect(try trapped([0x67, 0x0F, 0xB9, 0xC0, 0x90]).kind == "illegal-instruction")
    #expect(try trapped([0x0F, 0x0B]).kind == "trap-instruction")
    #expect(try trapped([0x06, 0x90, 0x90, 0x90, 0x90]).kind == "illegal-instruction")
  }

  /// For these instructions no register holds the fault address: without the instruction, the report would blame
  /// one of them.
  @Test(arguments: [
    ([0xF4] as [UInt8], true), ([0xFA, 0x90], true), ([0xCD, 0x81], true), ([0x66, 0xED], true),
    ([0x0F, 0x30], true), ([0x48, 0x0F, 0x22, 0xD8], true), ([0x0F, 0x01, 0x10], true),
    ([0x0F, 0x01, 0xF8], true),
    // The instructions `mov (%rax), %eax`, `xgetbv` and `movaps`.
    ([0x8B, 0x00], false), ([0x0F, 0x01, 0xD0], false), ([0x0F, 0x28, 0x00], false), ([], false),
  ])
  func instructionsOfTheKernel(_ code: [UInt8], _ isPrivileged: Bool) throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code, exception.trapNumber) = (11, 0x80, 13)
    var context = X86_64Context()
    (context.rip, context.r10) = (0x4000, 0xDEAD_BEEF_DEAD_BEEF)
    exception.context = .x86_64(context)
    snapshot.exception = exception
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x4000, bytes: code)])
    let found = try #require(snapshot.finding())
    #expect(found.kind == (isPrivileged ? "privileged-instruction" : "general-protection"))
    #expect(found.certainty == (isPrivileged ? .certain : .likely))
  }

  @Test(arguments: [
    (0x2000 as UInt64, 0x2000 as UInt64, "end-of-code", Finding.Certainty.likely),
    (0x2000, 0x1FFE, "end-of-code", .certain),
    // Jumps to other addresses.
    (0x2010, 0x2010, "unmapped-memory", .certain), (0x9000, 0x9000, "unmapped-memory", .certain),
  ])
  func executionThatRanOffAPage(
    _ address: UInt64, _ place: UInt64, _ kind: String, _ certainty: Finding.Certainty
  ) throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code, exception.address) = (11, 1, Address(address * 16))
    (exception.trapNumber, exception.trapErrorCode) = (14, 0x14)
    var context = X86_64Context()
    context.rip = address * 16 - (address - place)
    exception.context = .x86_64(context)
    snapshot.exception = exception
    snapshot.mappings = [
      MemoryMapping(start: 0x1_0000, end: 0x2_0000, protection: [.read, .execute], path: "/a"),
      MemoryMapping(start: 0x8_0000, end: 0x9_0000, protection: [.read, .write]),
    ]
    let found = try #require(snapshot.finding())
    #expect(found.kind == kind && found.certainty == certainty)
    #expect(found.text.contains("ran off the end of the code in /a") == (kind == "end-of-code"))
  }

  /// The texts of these failures are written to standard error only.
  @Test(arguments: [
    (["swift_task_dealloc"], "swift-task-allocation", "not the last allocation"),
    (
      [
        "_ZN5swift14StackAllocatorILm984EXadL_ZNS_18TaskAllocatorSlabE",
        "swift_task_dealloc_through",
      ],
      "swift-task-allocation", "not the last allocation"
    ),
    (["swift_task_reportUnexpectedExecutor"], "swift-actor-isolation", "Incorrect actor executor"),
    (["swift_task_other"], "swift-concurrency", "a rule was broken"),
  ])
  func concurrencyRuntime(_ callers: [String], _ kind: String, _ words: String) throws {
    let end = [
      "abort", "_ZN5swift29swift_Concurrency_fatalErrorvEjPKcP13__va_list_tag",
      "_ZN5swift28swift_Concurrency_fatalErrorEjPKcz",
    ]
    let found = try finding(aborted(), end + callers + ["App.f() -> ()"])
    #expect(found.kind == kind && found.certainty == .inferred)
    #expect(found.text.contains(words))
  }

  @Test func uncaughtExceptionsAreToldFromCaughtOnes() throws {
    let snapshot = aborted { $0.cxxException = CxxException(typeName: "St13runtime_error") }
    let thrown = try finding(snapshot, ["abort", "_ZSt9terminatev", "__cxa_throw", "f"])
    #expect(thrown.kind == "cxx-exception" && thrown.certainty == .certain)
    #expect(thrown.text == "A C++ exception of type std::runtime_error was not caught.")
    let handling = try finding(snapshot, ["abort", "handler", "main"])
    #expect(handling.kind == "abort")
    #expect(handling.text.contains("while it handled a C++ exception of type std::runtime_error"))
    #expect(try finding(snapshot).certainty == .likely)
    // A name that is not a C++ name is shown as it is.
    let odd = aborted { $0.cxxException = CxxException(typeName: "*7Strange?") }
    #expect(try finding(odd).text.contains("7Strange?"))
    let memory = aborted { $0.cxxException = CxxException(typeName: "St9bad_alloc") }
    #expect(try finding(memory, ["_ZSt9terminatev"]).kind == "out-of-memory")
    #expect(try finding(aborted(), ["abort", "_ZSt9terminatev"]).kind == "cxx-terminate")
    // As in a core file, it is unknown whether an exception was being handled.
    var unknown = aborted()
    unknown.cxxException = CxxException(typeName: nil)
    #expect(try finding(unknown, ["abort", "_ZSt9terminatev"]).kind == "abort")
    #expect(try finding(aborted(), ["abort", "__cxa_pure_virtual"]).kind == "pure-virtual-call")
  }

  /// The function that called std::terminate() shows whether an exception was caught.
  @Test(
    arguments: [
      (["__cxa_throw", "f"], "cxx-exception", .certain),
      (["__cxa_rethrow", "f"], "cxx-exception", .certain),
      (["__gxx_personality_v0", "_Unwind_RaiseException"], "cxx-exception", .certain),
      (["__clang_call_terminate", "f"], "cxx-exception", .certain),
      (["_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"], "cxx-exception", .certain),
      (
        ["_ZN10__cxxabiv1L12failed_throwEPNS_15__cxa_exceptionE", "__cxa_throw"], "cxx-exception",
        .certain
      ),
      ([], "cxx-exception", .likely),
      // A catch block that destroyed a std::thread, and a function that threw and caught further out.
      (["_ZNSt6threadD2Ev", "f"], "cxx-terminate", .certain),
      (["f", "main"], "cxx-terminate", .certain),
    ] as [([String], String, Finding.Certainty)])
  func terminateInCatchBlocks(
    _ callers: [String], _ kind: String, _ certainty: Finding.Certainty
  ) throws {
    let snapshot = aborted {
      $0.cxxException = CxxException(typeName: "St13runtime_error", message: "no")
    }
    let symbols =
      ["abort", "_ZN10__cxxabiv111__terminateEPFvvE", "_ZSt9terminatev"] + callers
    let found = try finding(snapshot, symbols)
    #expect(found.kind == kind && found.certainty == certainty)
    #expect(found.text.contains("which had been caught") == (kind == "cxx-terminate"))
    let finder = CauseFinder(
      of: snapshot, trace: StackTrace(symbols.map { StackFrame($0, trust: .context) }))
    #expect((finder.message == nil) == (kind == "cxx-terminate"))
  }

  @Test func messageOfAnException() {
    let snapshot = aborted {
      $0.cxxException = CxxException(typeName: "St13runtime_error", message: "no\n")
    }
    let text = "Uncaught C++ exception of type std::runtime_error: no"
    #expect(CrashReport(snapshot: snapshot, symbolicating: false).message == text)
    let sent = aborted(by: 7) { $0.cxxException = CxxException(typeName: "i") }
    #expect(CrashReport(snapshot: sent, symbolicating: false).message == nil)
  }

  @Test func watchdog() throws {
    func sent(_ name: String?, interval: UInt64?) throws -> Finding {
      try finding(
        aborted(by: 1) {
          $0.exception?.senderName = name
          $0.process.watchdogInterval = interval
        })
    }
    let found = try sent("systemd", interval: 500_000_000)
    #expect(found.kind == "watchdog" && found.certainty == .likely)
    #expect(found.text.contains("for 500 ms (WatchdogSec)"))
    // In a container, the service manager is outside, and the name of process 1 may not be visible.
    #expect(try sent(nil, interval: 30_000_000_000).kind == "watchdog")
    #expect(try sent("systemd", interval: nil).kind == "sent-signal")
    #expect(try sent("tini", interval: 30_000_000_000).kind == "sent-signal")
  }

  @Test func quitRequest() throws {
    func sent(by sender: UInt8, signal: Int32 = 3, code: Int32 = 0) -> ProcessSnapshot {
      aborted(by: sender) {
        $0.exception?.signal = signal
        $0.exception?.code = code
      }
    }
    for snapshot in [sent(by: 7), sent(by: 0), sent(by: 7, code: -1), sent(by: 7, code: 128)] {
      #expect(snapshot.isQuitRequest)
      let found = try finding(snapshot)
      #expect(found.kind == "quit-request" && found.certainty == .certain)
      #expect(found.text.hasPrefix("The process was asked to end: SIGQUIT was sent"))
      let report = CrashReport(snapshot: snapshot, symbolicating: false)
      #expect(report.signature == "SIGQUIT | quit-request")
    }
    #expect(try finding(sent(by: 7)).text.contains(" by process 7 of user 3."))
    #expect(try finding(sent(by: 7, code: 128)).text.contains("did not record by whom"))
    // A program that sends SIGQUIT to itself has ended itself, and other signals are not requests.
    #expect(try finding(sent(by: 100, code: -6)).kind == "sent-signal")
    #expect(try finding(sent(by: 7, signal: 6)).kind == "sent-signal")
    #expect(!sent(by: 100, code: -6).isQuitRequest && !sent(by: 7, signal: 6).isQuitRequest)
    var requested = sent(by: 7)
    requested.request = DumpRequest()
    #expect(!requested.isQuitRequest)
  }

  /// The kernel may give a request to quit to any thread.
  @Test func aRequestToQuitIsNoCrashOfTheUploader() {
    func onUploader(_ signal: Int32) -> ProcessSnapshot {
      aborted(by: 7) {
        $0.exception?.signal = signal
        $0.threads[0].name = UploaderThread.name
      }
    }
    #expect(onUploader(6).isUploaderCrash && !onUploader(3).isUploaderCrash)
  }

  @Test func mainThreadsActivity() throws {
    func text(_ change: (inout ThreadSnapshot) -> Void) throws -> String {
      let snapshot = aborted(by: 7) { change(&$0.threads[1]) }
      return try finding(snapshot).text
    }
    #expect(
      try text { $0.systemCall = "232 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8" }
        .hasSuffix("The main thread was idle, in epoll_wait."))
    #expect(try text { $0.state = "R" }.hasSuffix("The main thread was busy."))
    #expect(try text { _ in }.hasSuffix("It is not a fault."))
  }

  @Test func interruptedMainThread() throws {
    func text(code: [UInt8], rax: UInt64) throws -> String {
      let snapshot = aborted(by: 7) {
        var context = X86_64Context()
        context.rip = 0x1002
        context.rax = rax
        $0.exception?.threadID = 100
        $0.threads[1].context = .x86_64(context)
        $0.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x1000, bytes: code)])
      }
      return try finding(snapshot).text
    }
    // The kernel restarts the call, or returns EINTR.
    #expect(
      try text(code: [0x90, 0x90, 0x0F, 0x05], rax: 7).hasSuffix("was idle, in poll."))
    #expect(
      try text(code: [0x0F, 0x05, 0x90, 0x90], rax: UInt64(bitPattern: -4))
        .hasSuffix("was idle, in a system call."))
    #expect(try text(code: [0x90, 0x90, 0x90, 0x90], rax: 7).hasSuffix("was busy."))
    // The call had returned by itself.
    #expect(try text(code: [0x0F, 0x05, 0x90, 0x90], rax: 0).hasSuffix("was busy."))
  }

  @Test func faultsInsideTheAllocator() throws {
    var snapshot = aborted()
    snapshot.exception?.signal = 11
    snapshot.exception?.code = 1
    snapshot.exception?.address = 8
    let text = try finding(snapshot, ["unlink_chunk.isra.0", "_int_malloc", "malloc", "f"]).text
    #expect(text.hasPrefix("An access to 0x8"))
    #expect(text.contains("inside the memory allocator (unlink_chunk.isra.0)"))
    #expect(try !finding(snapshot, ["f", "g", "h", "i", "malloc"]).text.contains("allocator"))
  }

  @Test func addressSpaceAndThreadsAgainstTheirLimits() throws {
    var snapshot = aborted()
    snapshot.process.statusText = Array("Name:\tapp\nVmSize:\t  950000 kB\n".utf8)
    snapshot.process.limitsText = Array(
      """
      Max processes             64                   64                   processes
      Max address space         1048576000           unlimited            bytes

      """.utf8)
    snapshot.capture.threadsFound = 64
    let resources = Resources(snapshot)
    #expect(resources.addressSpace.used == 950_000 << 10)
    #expect(resources.threads.limit == 64)
    let text = try #require(snapshot.explanation())
    #expect(text.contains("(RLIMIT_AS): an allocation may have failed."))
    #expect(text.contains("64 threads, and its user may have 64"))
    snapshot.process.statusText = Array("VmSize:\t  500000 kB\n".utf8)
    snapshot.capture.threadsFound = 3
    #expect(Resources(snapshot).shortages.isEmpty)
  }
}
