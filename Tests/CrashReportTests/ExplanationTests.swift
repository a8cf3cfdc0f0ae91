import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct ExplanationTests {
  static let stack: Range<UInt64> = 0x7F00_0010_0000..<0x7F00_0090_0000

  /// A crash of process 100 with a mapping of code, a read-only one, and a stack with a guard.
  private func snapshot(
    signal: Int32, code: Int32, address: UInt64? = nil, trapError: UInt64? = nil,
    change: (inout ProcessSnapshot) -> Void = { _ in }
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.processID = 100
    var context = X86_64Context()
    context.rip = 0x40_0100
    context.rsp = Self.stack.lowerBound + 0x8000
    var exception = ExceptionSnapshot(threadID: 100)
    exception.signal = signal
    exception.code = code
    exception.address = address.map { Address($0) }
    exception.context = .x86_64(context)
    exception.trapNumber = trapError == nil ? nil : 14
    exception.trapErrorCode = trapError
    snapshot.exception = exception
    var thread = ThreadSnapshot(id: 100)
    thread.context = .x86_64(context)
    thread.stackRange = AddressRange(
      from: Address(Self.stack.lowerBound), to: Address(Self.stack.upperBound))
    snapshot.threads = [thread]
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute], path: "/app"),
      MemoryMapping(start: 0x50_0000, end: 0x50_1000, protection: [.read], path: "/app"),
      MemoryMapping(start: 0x60_0000, end: 0x60_1000, protection: [.read, .write]),
      MemoryMapping(start: 0x70_0000, end: 0x70_1000, protection: []),
      MemoryMapping(
        start: Address(Self.stack.lowerBound - 4096), end: Address(Self.stack.lowerBound),
        protection: []),
      MemoryMapping(
        start: Address(Self.stack.lowerBound), end: Address(Self.stack.upperBound),
        protection: [.read, .write]),
    ]
    change(&snapshot)
    return snapshot
  }

  private func text(_ snapshot: ProcessSnapshot) throws -> String {
    try #require(snapshot.explanation())
  }

  @Test func nullPointers() throws {
    #expect(
      try text(snapshot(signal: 11, code: 1, address: 0, trapError: 4))
        == "A read of address 0: a null pointer was dereferenced.")
    #expect(
      try text(snapshot(signal: 11, code: 1, address: 24, trapError: 6))
        == "A write to 0x18: a null pointer was dereferenced at an offset of 24 bytes.")
    let call = snapshot(signal: 11, code: 1, address: 0, trapError: 0x14) {
      $0.exception?.context = .x86_64(X86_64Context())
    }
    #expect(try text(call) == "A call or jump through a null function pointer.")
  }

  @Test func protectedMemory() throws {
    #expect(
      try text(snapshot(signal: 11, code: 2, address: 0x50_0010, trapError: 7))
        == "A write to 0x500010 in /app (0x500000-0x501000 r--), which is not writable.")
    #expect(
      try text(snapshot(signal: 11, code: 2, address: 0x60_0010, trapError: 0x15))
        == "A jump or call to 0x600010 in anonymous memory (0x600000-0x601000 rw-), which is not"
        + " executable.")
    #expect(
      try text(snapshot(signal: 11, code: 2, address: 0x70_0010, trapError: 4))
        == "A read of 0x700010 in anonymous memory (0x700000-0x701000 ---), which allows no access"
        + " at all.")
  }

  /// A fault in a mapping that allows the access: the kernel's page map entry shows the reason.
  @Test(
    arguments: [
      (nil, "guard-region", .likely), (1 << 62 | 1 << 58, "guard-region", .certain),
      // A guard region before Linux 6.15, or memory that was swapped out afterwards.
      (1 << 62, "guard-region", .likely), (0, "unmapped-memory", .certain),
      (1 << 63, "unmapped-memory", .certain),
    ] as [(UInt64?, String, Finding.Certainty)])
  func guardRegions(_ page: UInt64?, _ kind: String, _ certainty: Finding.Certainty) throws {
    let report = snapshot(signal: 11, code: 1, address: 0x60_0010, trapError: 6) {
      $0.exception?.faultPage = page
    }
    let finding = try #require(CauseFinder(of: report, trace: nil).finding)
    #expect(finding.kind == kind)
    #expect(finding.certainty == certainty)
    #expect(finding.evidence.contains(.guardRegion) == (page == 1 << 62 | 1 << 58))
    // A missing access right is a different cause, and has another code.
    for (code, kind) in [(2 as Int32, "protected-memory"), (1, "unmapped-memory")] {
      let denied = snapshot(signal: 11, code: code, address: 0x50_0010, trapError: 6) {
        $0.exception?.faultPage = page
      }
      #expect(CauseFinder(of: denied, trace: nil).finding?.kind == kind)
    }
  }

  /// A stack's guard is part of its mapping: a fault there is an overflow only if the stack pointer is near it.
  @Test(
    arguments: [(0x4000, true), (0x3F00, true), (0x2_0000, false), (0x20_0000, false)]
      as [(UInt64, Bool)])
  func guardsWithinStacks(_ pointer: UInt64, _ isOverflow: Bool) throws {
    let low = Self.stack.lowerBound
    let report = snapshot(signal: 11, code: 1, address: low + 0x3FF8, trapError: 6) {
      var context = X86_64Context()
      context.rsp = low + pointer
      $0.exception?.context = .x86_64(context)
      $0.exception?.faultPage = 1 << 62 | 1 << 58
      $0.memory = MemorySnapshot(
        joining: [
          MemoryRegion(address: Address(low + 0x4000), bytes: [UInt8](repeating: 0, count: 4096))
        ])
    }
    let finding = try #require(CauseFinder(of: report, trace: nil).finding)
    #expect(finding.kind == (isOverflow ? "stack-overflow" : "guard-region"))
    #expect(finding.certainty == .certain)
    guard isOverflow, case .stackOverflow(let overflow) = finding.cause else { return }
    #expect(overflow.stack.start == Address(low + 0x4000))
  }

  @Test func unmappedMemoryNamesItsNeighbours() throws {
    let text = try text(snapshot(signal: 11, code: 1, address: 0x60_1010, trapError: 4))
    #expect(text.hasPrefix("A read of 0x601010, where nothing is mapped."))
    #expect(
      text.contains("below ends 16 bytes before it: anonymous memory (0x600000-0x601000 rw-)"))
    #expect(text.contains("above starts 1019 KiB after it"))
  }

  @Test func saysNothingOfMappingsThatItDoesNotHave() {
    let torn = snapshot(signal: 11, code: 1, address: 0x60_1010) { $0.mappings = [] }
    #expect(torn.explanation() == nil)
    var unknown = snapshot(signal: 11, code: 1)
    unknown.exception?.signal = nil
    #expect(unknown.explanation() == nil)
  }

  @Test func nonCanonicalAddresses() throws {
    let protection = snapshot(signal: 11, code: 0x80) {
      var context = X86_64Context()
      context.rbx = 0xDEAD_BEEF_DEAD_BEEF
      $0.exception?.context = .x86_64(context)
    }
    let text = try text(protection)
    #expect(text.contains("general protection fault"))
    #expect(text.contains("rbx 0xdeadbeefdeadbeef"))
    #expect(!text.contains("rax"))
    // A 57-bit address is suspect only in a process without memory at such addresses.
    for isMapped in [false, true] {
      var large = snapshot(signal: 11, code: 0x80) {
        var context = X86_64Context()
        context.rbx = 0x00FE_DCBA_9876_5000
        $0.exception?.context = .x86_64(context)
      }
      let mapping = MemoryMapping(
        range: AddressRange(start: 0x00FE_0000_0000_0000, byteCount: 4096), protection: .read)
      if isMapped { large.mappings.append(mapping) }
      #expect(try self.text(large).contains("rbx 0xfedcba98765000") == !isMapped)
    }
    #expect(Address(0x7FFF_FFFF_FFFF).isCanonical)
    #expect(!Address(0x8000_0000_0000).isCanonical)
    #expect(Address(0xFFFF_8000_0000_0000).isCanonical)
  }

  /// If the instruction is known, only the registers of its operand can explain a general protection fault, or else an
  /// alignment that it requires.
  @Test(
    arguments: [
      // movaps %xmm0, (%rax); vmovaps %ymm0, (%rax); mov (%rax), %rax; a jump through the table at (%rbx, %rax, 8)
      ([0x0F, 0x29, 0x00], 0x1001, "misaligned-access"),
      ([0xC5, 0xFC, 0x29, 0x00], 0x1008, "misaligned-access"),
      ([0x0F, 0x29, 0x00], 0x1010, "general-protection"),
      ([0x48, 0x8B, 0x00], 0x1001, "general-protection"),
      ([0x0F, 0x29, 0x00], 0xDEAD_BEEF_DEAD_BEEF, "general-protection"),
    ] as [([UInt8], UInt64, String)])
  func theOperandShowsWhatTheProcessorRefused(
    _ code: [UInt8], _ rax: UInt64, _ kind: String
  ) throws {
    let protection = snapshot(signal: 11, code: 0x80) {
      var context = X86_64Context()
      (context.rip, context.rax, context.r9) = (0x40_0010, rax, 0xE600_0000_0000_0000)
      $0.exception?.context = .x86_64(context)
      $0.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x40_0010, bytes: code)])
    }
    let finding = try #require(protection.finding())
    #expect(finding.kind == kind && finding.certainty == .likely)
    let text = try text(protection)
    let isWild = !Address(rax).isCanonical
    #expect(text.contains("rax 0xdeadbeef") == isWild, "\(text)")
    #expect(text.contains("r9 0xe6") == (kind == "general-protection" && !isWild), "\(text)")
  }

  /// SIGALRM arrived when the stack pointer was already below the stack: seen in one of 100 runs of crash-lab's
  /// alloca under alarm-storm.
  @Test func aSignalForWhichTheStackHasNoRoom() throws {
    func interrupted(at stackPointer: UInt64, trap: UInt64?) -> ProcessSnapshot {
      snapshot(signal: 11, code: 0x80) { snapshot in
        var context = X86_64Context()
        context.rsp = stackPointer
        snapshot.exception?.context = .x86_64(context)
        snapshot.exception?.address = nil
        snapshot.exception?.trapNumber = trap
      }
    }
    let below = interrupted(at: Self.stack.lowerBound - (8 << 20), trap: 0)
    #expect(try text(below).contains("A signal came, and the kernel had no room to deliver it"))
    #expect(try text(below).contains("8192 KiB below the stack"))
    #expect(below.finding()?.kind == "stack-overflow")
    let full = interrupted(at: Self.stack.lowerBound + 512, trap: 0)
    #expect(try text(full).contains("512 bytes above the end of the stack"))
    // With room on the stack, the kernel sent the signal for an unknown reason.
    let roomy = interrupted(at: Self.stack.upperBound - 64, trap: 0)
    #expect(roomy.explanation() == nil)
    var elsewhere = interrupted(at: Self.stack.lowerBound - (8 << 20), trap: 0)
    elsewhere.mappings.append(
      MemoryMapping(
        start: Address(Self.stack.lowerBound - (9 << 20)),
        end: Address(Self.stack.lowerBound - (7 << 20)),
        protection: [.read, .write]))
    elsewhere.mappings.sort { $0.start < $1.start }
    #expect(elsewhere.explanation() == nil)
    let protection = interrupted(at: Self.stack.lowerBound - 64, trap: 13)
    #expect(try text(protection).contains("general protection fault"))
    // A core file has no trap number.
    let unknown = interrupted(at: Self.stack.lowerBound - 64, trap: nil)
    #expect(unknown.finding()?.kind == "stack-overflow")
    #expect(unknown.finding()?.certainty == .likely)
    #expect(
      interrupted(at: Self.stack.upperBound - 64, trap: nil).finding()?.kind == "general-protection"
    )
  }

  /// With glibc 2.42 or later, the guard of a thread's stack can be inside the mapping of the stack.
  ///
  /// On arm64, this guard takes 64 KiB: seen once in crash-lab's stack-overflow under alarm-storm.
  @Test(
    arguments: [
      (0x1_11C0, .likely), (0x200, .certain), (0x1_4000, nil), (0x2_0000, nil),
    ] as [(UInt64, Finding.Certainty?)])
  func aSignalAboveAHiddenGuard(_ distance: UInt64, _ certainty: Finding.Certainty?) throws {
    func interrupted(thread: UInt32) -> ProcessSnapshot {
      snapshot(signal: 11, code: 0x80) { snapshot in
        var context = ARM64Context()
        context.sp = Self.stack.lowerBound + distance
        snapshot.architecture = .arm64
        snapshot.exception?.threadID = thread
        snapshot.exception?.context = .arm64(context)
        snapshot.threads[0].id = thread
      }
    }
    let report = interrupted(thread: 101)
    #expect(report.finding()?.certainty == certainty)
    #expect(report.finding()?.kind == (certainty == nil ? nil : "stack-overflow"))
    #expect(
      report.explanation()?.contains("The lowest part of this stack may be its guard region.")
        == (certainty.map { $0 == .likely }))
    // The main thread's stack has no such guard.
    #expect((interrupted(thread: 100).explanation() == nil) == (distance > 0x4000))
  }

  @Test func stackOverflow() throws {
    let overflow = snapshot(
      signal: 11, code: 2, address: Self.stack.lowerBound - 8, trapError: 6
    ) { snapshot in
      guard case .x86_64(var context)? = snapshot.exception?.context else { return }
      context.rsp = Self.stack.lowerBound
      snapshot.exception?.context = .x86_64(context)
    }
    let frames = [StackFrame](repeating: StackFrame("App.f(Swift.Int) -> ()"), count: 40)
    let text = try #require(overflow.explanation(frames))
    #expect(text.hasPrefix("Stack overflow: App.f(_:) calls itself, 40 calls deep."))
    // The functions that lead to the recursion, and those that it called last, are not part of it.
    let outer = ["main", "__libc_start_call_main", "__libc_start_main", "_start"]
    let around =
      ["write", "print"].map { StackFrame($0) } + frames + outer.map { StackFrame($0) }
    #expect(
      try #require(overflow.explanation(around))
        .hasPrefix("Stack overflow: App.f(_:) calls itself, 40 calls deep."))
    let turns = (0..<40).map { StackFrame($0 % 2 == 0 ? "even" : "odd") } + [StackFrame("main")]
    #expect(
      try #require(overflow.explanation(turns))
        .hasPrefix("Stack overflow: even is in 20 of the innermost 41 frames, 40 calls deep."))
    #expect(text.contains("8 bytes below the stack"))
    #expect(text.contains("in its guard"))
    // RLIMIT_STACK limits only the main thread's own stack.
    var other = overflow
    other.process.limitsText = Array("Max stack size 8388608 unlimited bytes\n".utf8)
    #expect(try #require(other.explanation(frames)).contains("RLIMIT_STACK"))
    other.mappings.append(
      MemoryMapping(
        start: 0x7FFF_0000_0000, end: 0x7FFF_0010_0000, protection: [.read, .write], path: "[stack]"
      )
    )
    let sentences = try #require(other.explanation(frames))
    #expect(sentences.contains("alternate stack") && !sentences.contains("RLIMIT_STACK"))
    let huge = snapshot(
      signal: 11, code: 1, address: Self.stack.lowerBound - (64 << 20), trapError: 6
    ) { snapshot in
      guard case .x86_64(var context)? = snapshot.exception?.context else { return }
      context.rsp = Self.stack.lowerBound - (64 << 20)
      context.rbp = Self.stack.upperBound - 16
      snapshot.exception?.context = .x86_64(context)
    }
    #expect(try self.text(huge).hasSuffix("The innermost frame alone is 71 MiB large."))
    // If the stack pointer is far away, the same address is a wild pointer.
    let wild = snapshot(signal: 11, code: 2, address: Self.stack.lowerBound - 8, trapError: 6)
    #expect(try #require(wild.explanation()).hasPrefix("A write to"))
  }

  @Test func trapThatOnlyDebugInformationNames() throws {
    let trap = snapshot(signal: 4, code: 2, address: 0x1000, trapError: 0)
    let name = "Swift runtime failure: Division by zero in remainder operation"
    let outer = StackFrame("App.f() -> ()")
    let failing = [StackFrame(name, inlined: true), outer]
    let text = try #require(trap.explanation(failing))
    #expect(text.contains("Division by zero in remainder operation"))
    #expect(text.contains("inferred from debug information"))
    // A function that a person gave such a name is not compiler-generated.
    let other = trap.explanation([StackFrame(name), outer])
    #expect(other?.contains("inferred") != true)
    #expect(FunctionName.short(name) == name)
    #expect(Signature.text(of: trap, trace: StackTrace(failing), nil) == "SIGILL | App.f()")
  }

  @Test func sentSignals() throws {
    func information(pid: UInt8, uid: UInt8) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 128)
      bytes[16] = pid
      bytes[20] = uid
      return bytes
    }
    let sent = snapshot(signal: 11, code: 0) {
      $0.exception?.signalInfo = information(pid: 55, uid: 3)
    }
    #expect(
      try text(sent)
        == "The signal SIGSEGV was sent by process 55 of user 3. It is not a fault.")
    #expect(sent.exception?.sender?.processID == 55)
    let own = snapshot(signal: 6, code: -6) {
      $0.exception?.signalInfo = information(pid: 100, uid: 3)
    }
    #expect(try text(own) == "The process called abort(), or raised SIGABRT itself.")
    let asserted = snapshot(signal: 6, code: -6) {
      $0.exception?.signalInfo = information(pid: 100, uid: 3)
      $0.exception?.abortMessage = "app.c:3: f: Assertion `x' failed.\n"
    }
    let report = CrashReport(snapshot: asserted, symbolicating: false)
    #expect(report.message == "app.c:3: f: Assertion `x' failed.")
    #expect(report.explanation == "A C assertion failed, and called abort().")
    // The head has the message without the explanation, which says the same.
    #expect(!report.head(isFull: true).paragraphs.contains { $0.contains("assertion") })
  }

  @Test func limits() throws {
    func own(_ signal: Int32) -> ProcessSnapshot {
      snapshot(signal: signal, code: 0) {
        var bytes = [UInt8](repeating: 0, count: 128)
        bytes[16] = 100
        $0.exception?.signalInfo = bytes
      }
    }
    #expect(try text(own(13)).hasPrefix("A write to a pipe or socket"))
    #expect(try text(own(25)).contains("RLIMIT_FSIZE"))
    #expect(try text(own(3)) == "The process sent itself SIGQUIT (kill or raise).")
    #expect(try text(own(11)).hasSuffix("SIGSEGV (kill or raise); no memory access failed."))
    #expect(try text(snapshot(signal: 24, code: 0x80)).contains("RLIMIT_CPU"))
  }

  @Test func traps() throws {
    let undefined = snapshot(signal: 4, code: 2) {
      $0.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x40_0100, bytes: [0x0F, 0x0B])])
    }
    #expect(try text(undefined).hasPrefix("Trap instruction (ud2 or brk): a failed runtime check"))
    let breakpoint = snapshot(signal: 5, code: 0x80) {
      $0.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x40_00FF, bytes: [0xCC])])
    }
    #expect(try text(breakpoint).hasPrefix("A breakpoint instruction was executed"))
    #expect(snapshot(signal: 4, code: 2).explanation() == nil)
    #expect(try text(snapshot(signal: 8, code: 1)).hasPrefix("An integer division by zero"))
    var bytes = [UInt8](repeating: 0, count: 128)
    bytes[24] = 169
    let call = snapshot(signal: 31, code: 1) { $0.exception?.signalInfo = bytes }
    #expect(try text(call).contains("System call number 169 is not allowed"))
    // With AUDIT_ARCH_X86_64, the number has a name.
    bytes.replaceSubrange(28..<32, with: [0x3E, 0, 0, 0xC0])
    let named = snapshot(signal: 31, code: 1) { $0.exception?.signalInfo = bytes }
    #expect(try text(named).contains("System call number 169 (reboot) is not allowed"))
  }
}
