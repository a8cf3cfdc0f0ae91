import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

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
    #expect(found.handler == "onFault")
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

  @Test func otherSignalsAreNotTheFault() {
    // The handler was that of another signal, or of a signal that was sent; or the crash was sent by another process.
    #expect(!isFound(snapshot(signal: 10), trace()))
    #expect(!isFound(snapshot(code: 0), trace()))
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
}
