import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Faults that a handler of the program received first, and that it raised again.
@Suite struct InterruptedFaultTests {
  private static let frame: Address = 0x7F00_0000_1000

  private func bytes(_ words: [UInt64]) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  /// A signal that process 100 sent to itself in a handler of another signal.
  ///
  /// - Parameters:
  ///   - signal: the signal that the handler received.
  ///   - code: its `si_code`.
  private func snapshot(
    _ architecture: ProcessSnapshot.Architecture = .x86_64, signal: UInt64 = 11, code: UInt64 = 1,
    sender: UInt8 = 100
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: architecture)
    snapshot.process.processID = 100
    var exception = ExceptionSnapshot(threadID: 100)
    (exception.signal, exception.code) = (11, -6)
    exception.signalInfo = [UInt8](repeating: 0, count: 128)
    exception.signalInfo?[16] = sender
    snapshot.exception = exception
    snapshot.threads = [ThreadSnapshot(id: 100)]
    var info = bytes([signal, code, 0x28] + [UInt64](repeating: 0, count: 13))
    info.replaceSubrange(0..<12, with: bytes([signal]) + bytes([code]).prefix(4))
    let register: [UInt64]
    switch architecture {
    case .x86_64:
      // The registers r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp and rip, and the error code and trap number.
      register =
        [
          0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x7F00_0000_2000, 0x40_0010, 0, 0, 6, 14,
          0, 0,
        ]
      snapshot.memory = MemorySnapshot(joining: [
        MemoryRegion(
          address: Self.frame,
          bytes: [UInt8](repeating: 0, count: 40) + bytes(register)
            + [UInt8](repeating: 0, count: 304 - 40 - 23 * 8) + info),
        // mov 0x18(%rax), %rax
        MemoryRegion(address: 0x40_0010, bytes: [0x48, 0x8B, 0x40, 0x18]),
      ])
    case .arm64:
      register = [0, 0x10] + [UInt64](repeating: 0, count: 29) + [0x7F00_0000_2000, 0x40_0010, 0]
      snapshot.memory = MemorySnapshot(joining: [
        MemoryRegion(
          address: Self.frame,
          bytes: info + [UInt8](repeating: 0, count: 176 + 8) + bytes(register))
      ])
    }
    return snapshot
  }

  private func trace(pointer: Address? = frame, trust: FrameTrust = .signalFrame) -> StackTrace {
    var trampoline = StackFrame("__restore_rt")
    trampoline.stackPointer = pointer
    return StackTrace([
      StackFrame("raise", trust: .context), StackFrame("report"), StackFrame("onFault"),
      trampoline, StackFrame("App.crash()", trust: trust), StackFrame("main"),
    ])
  }

  private func isFound(_ snapshot: ProcessSnapshot, _ trace: StackTrace) -> Bool {
    InterruptedFault(of: snapshot, trace: trace) != nil
  }

  @Test(arguments: [ProcessSnapshot.Architecture.x86_64, .arm64])
  func theFaultIsReadFromTheHandlersSignalFrame(
    _ architecture: ProcessSnapshot.Architecture
  ) throws {
    let snapshot = snapshot(architecture)
    let found = try #require(InterruptedFault(of: snapshot, trace: trace()))
    #expect(found.trace.frames.map(\.function) == ["App.crash()", "main"])
    #expect(found.handler == "onFault" && found.isRecorded)
    let fault = try #require(found.snapshot.exception)
    #expect(fault.signal == 11 && fault.code == 1 && fault.address == 0x28)
    #expect(fault.context?.instructionPointer == 0x40_0010)
    #expect(fault.context?.stackPointer == 0x7F00_0000_2000)
    #expect(fault.trapNumber == (architecture == .x86_64 ? 14 : nil))
    let finding = try #require(CauseFinder(of: found.snapshot, trace: found.trace).finding)
    // The base register is 0x10 and not null.
    #expect(finding.kind == "null-dereference" && finding.certainty == .likely)
    #expect(CauseFinder(of: snapshot, trace: trace()).finding?.kind == "sent-signal")
  }

  /// If the handler ran on an alternate stack, an overflow is one of the stack on which the fault was.
  @Test func theStackIsThatOfTheFault() throws {
    var snapshot = snapshot()
    let stack = AddressRange(from: 0x7F00_0000_3000, to: 0x7F00_0000_8000)
    snapshot.threads[0].stackRange = AddressRange(from: Self.frame, to: 0x7F00_0000_2000)
    snapshot.mappings = [
      MemoryMapping(start: Self.frame, end: 0x7F00_0000_2000, protection: [.read, .write]),
      MemoryMapping(start: 0x7F00_0000_2000, end: stack.start, protection: []),
      MemoryMapping(start: stack.start, end: stack.clampedEnd, protection: [.read, .write]),
    ]
    var trace = trace()
    trace.frames[4].stackPointer = 0x7F00_0000_2FF0
    let found = try #require(InterruptedFault(of: snapshot, trace: trace))
    #expect(found.snapshot.crashedThread?.stackRange == stack)
    // A fault on the same stack as its handler leaves the range as it is.
    trace.frames[4].stackPointer = Self.frame
    let same = try #require(InterruptedFault(of: snapshot, trace: trace))
    #expect(same.snapshot.crashedThread?.stackRange == snapshot.threads[0].stackRange)
  }

  @Test func otherSignalsAreNotTheFault() {
    // The handler was that of another signal, or the crash was sent by another process.
    var other = snapshot()
    other.exception?.signal = 8
    #expect(!isFound(other, trace()))
    #expect(!isFound(snapshot(sender: 7), trace()))
    // There is no signal frame, its place is not known, or it is not in the dump.
    #expect(!isFound(snapshot(), trace(trust: .framePointer)))
    #expect(!isFound(snapshot(), trace(pointer: nil)))
    #expect(!isFound(snapshot(), trace(pointer: 0x1234_5000)))
    // The handler itself crashed.
    var own = snapshot()
    own.exception?.code = 1
    #expect(!isFound(own, trace()))
  }

  /// A handler can send the siginfo of its fault to itself, with rt_tgsigqueueinfo(2).
  @Test(arguments: [
    (0x28 as Address?, [0x0F, 0x05] as [UInt8], true), (0x30, [0x0F, 0x05], false),
    (0x28, [0x90, 0x90], false),
  ])
  func aFaultThatItsHandlerSendsAgainIsThatOfTheSignalFrame(
    _ address: Address?, _ call: [UInt8], _ isSame: Bool
  ) {
    var snapshot = snapshot()
    var context = X86_64Context()
    context.rip = 0x50_0002
    snapshot.exception?.context = .x86_64(context)
    snapshot.exception?.code = 1
    snapshot.exception?.address = address
    snapshot.memory = MemorySnapshot(
      joining: snapshot.memory.regions + [MemoryRegion(address: 0x50_0000, bytes: call)])
    let found = InterruptedFault(of: snapshot, trace: trace())
    #expect((found != nil) == isSame)
    #expect(!isSame || found?.snapshot.exception?.context?.instructionPointer == 0x40_0010)
  }

  /// The kernel writes no siginfo for a handler without SA_SIGINFO.
  @Test(arguments: [
    (14 as UInt64, 0x28 as UInt64, 1 as Int32?), (14, 0x40_0010, 2), (13, 0, 0x80), (3, 0, nil),
  ])
  func withoutTheSiginfoTheRegistersShowTheFault(
    _ trap: UInt64, _ address: UInt64, _ code: Int32?
  ) {
    var snapshot = snapshot(signal: 0)
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute])
    ]
    var words = [UInt64](repeating: 0, count: 23)
    (words[16], words[20], words[22]) = (0x40_0010, trap, address)
    snapshot.memory = MemorySnapshot(joining: [
      MemoryRegion(
        address: Self.frame, bytes: [UInt8](repeating: 0, count: 40) + bytes(words))
    ])
    let found = InterruptedFault(of: snapshot, trace: trace())
    #expect(found?.snapshot.exception?.code == code)
    #expect(found?.snapshot.exception?.address == (trap == 14 ? Address(address) : nil))
    #expect(found?.isRecorded != true && found?.handler == (code == nil ? nil : "onFault"))
  }

  /// A signal that its handler blocks arrives again at the faulting instruction.
  @Test(arguments: [
    (11 as Int32, [0x48, 0x8B, 0x40, 0x18] as [UInt8], 0x10 as UInt64, 1 as Int32?),
    (11, [0x48, 0x8B, 0x40, 0x18], 0xDEAD_BEEF_DEAD_BEEF, 0x80), (4, [0x0F, 0x0B], 0, 2),
    // The access succeeds, or the instruction is no access.
    (11, [0x48, 0x8B, 0x40, 0x18], 0x40_0000, nil), (11, [0x90, 0x90, 0x90], 0, nil),
    (4, [0x90, 0x90], 0, nil),
  ])
  func aBlockedSignalArrivesAtTheInstruction(
    _ signal: Int32, _ code: [UInt8], _ rax: UInt64, _ signalCode: Int32?
  ) {
    var snapshot = snapshot()
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute])
    ]
    var context = X86_64Context()
    (context.rip, context.rax) = (0x40_0020, rax)
    snapshot.exception?.signal = signal
    snapshot.exception?.context = .x86_64(context)
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x40_0020, bytes: code)])
    let trace = StackTrace([StackFrame("App.crash()", trust: .context), StackFrame("main")])
    let found = InterruptedFault(of: snapshot, trace: trace)
    #expect(found?.snapshot.exception?.code == signalCode)
    #expect((found == nil) == (signalCode == nil) && found?.isRecorded != true)
    #expect(found == nil || found?.trace.frames.first?.function == "App.crash()")
  }
}
