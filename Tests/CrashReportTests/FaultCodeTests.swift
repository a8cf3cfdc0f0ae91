import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// What the codes of signals and the instruction at a fault say, and how certain it is.
@Suite struct FaultCodeTests {
  /// - Parameters:
  ///   - code: the bytes of the instruction; empty if they are not in the dump.
  ///   - registers: sets registers.
  private func fault(
    at address: UInt64?, _ signalCode: Int32 = 1, trap: UInt64? = 14, code: [UInt8] = [],
    info: [UInt8]? = nil, registers: (inout X86_64Context) -> Void = { _ in }
  ) throws -> Finding {
    try #require(
      snapshot(at: address, signalCode, trap: trap, code: code, info: info, registers: registers)
        .finding())
  }

  private func snapshot(
    at address: UInt64?, _ signalCode: Int32, trap: UInt64? = 14, code: [UInt8] = [],
    info: [UInt8]? = nil, registers: (inout X86_64Context) -> Void = { _ in }
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var context = X86_64Context()
    context.rip = 0x40_0010
    registers(&context)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code) = (11, signalCode)
    exception.address = address.map { Address($0) }
    (exception.trapNumber, exception.trapErrorCode) = (trap, 4)
    exception.context = .x86_64(context)
    exception.signalInfo = info
    snapshot.exception = exception
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute], path: "/app"),
      MemoryMapping(start: 0x60_0000, end: 0x60_1000, protection: [.read, .write]),
    ]
    if !code.isEmpty {
      snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x40_0010, bytes: code)])
    }
    return snapshot
  }

  private static let load: [UInt8] = [0x8B, 0x04, 0x88]  // mov (%rax,%rcx,4), %eax
  private static let property: [UInt8] = [0x48, 0x8B, 0x40, 0x18]  // mov 0x18(%rax), %rax

  @Test(
    arguments: [
      (0, 0, 0, load, "null-dereference", .certain),
      (40, 0, 10, load, "null-dereference", .certain),
      (0x18, 0, 0, property, "null-dereference", .certain),
      // Wrong indexes into memory on the heap, and small numbers that were used as pointers.
      (0x18, 0x60_0018, 0xFFFF_FFFF_FFE8_0000, load, "unmapped-memory", .certain),
      (0, 0x60_0000, 0xFFFF_FFFF_FFE8_0000, load, "unmapped-memory", .certain),
      (65000, 65000, 0, load, "unmapped-memory", .certain),
      (0x28, 0x10, 0, property, "null-dereference", .likely),
      (5000, 0, 1250, load, "null-dereference", .certain),
      // Constants, without and with the instruction in the dump.
      (65000, 0, 0, [0xC7, 0x04, 0x25, 0xE8, 0xFD, 0, 0], "unmapped-memory", .certain),
      (0x18, 0, 0, [0xC7, 0x04, 0x25, 0x18, 0, 0, 0], "null-dereference", .likely),
      (0, 0, 0, [0xC7, 0x04, 0x25, 0, 0, 0, 0], "null-dereference", .certain),
      (0, 0, 0, [], "null-dereference", .certain), (0x18, 0, 0, [], "null-dereference", .likely),
      // The instruction after a system call, and one that accesses another address.
      (0, 0, 0, [0x48, 0x3D, 0, 0xF0, 0xFF, 0xFF], "null-dereference", .likely),
      (0, 0, 0, property, "null-dereference", .likely),
    ] as [(UInt64, UInt64, UInt64, [UInt8], String, Finding.Certainty)])
  func aNullPointerIsCertainOnlyIfTheBaseRegisterIsNull(
    _ address: UInt64, _ base: UInt64, _ index: UInt64, _ code: [UInt8], _ kind: String,
    _ certainty: Finding.Certainty
  ) throws {
    let found = try fault(at: address, code: code) { ($0.rax, $0.rcx) = (base, index) }
    #expect(found.kind == kind && found.certainty == certainty)
  }

  /// Another thread unmapped the memory, and a mapping that allows nothing was made at its addresses.
  @Test func memoryThatWasMappedAfterTheFaultWasNotProtected() throws {
    func kind(_ address: UInt64, _ code: Int32, _ path: String = "") -> String? {
      var snapshot = snapshot(at: address, code)
      snapshot.mappings.append(
        MemoryMapping(
          start: Address(address & ~4095), end: Address(address | 4095), protection: [], path: path)
      )
      return snapshot.finding()?.kind
    }
    #expect(kind(0x70_0010, 1) == "unmapped-memory")
    #expect(kind(0x70_0010, 2) == "protected-memory")
    #expect(kind(0xFFFF_FFFF_FF60_0010, 1, "[vsyscall]") == "protected-memory")
  }

  @Test func baseRegistersOfARM64() throws {
    func certainty(_ base: UInt64) throws -> Finding.Certainty {
      var snapshot = ProcessSnapshot(architecture: .arm64)
      var context = ARM64Context()
      (context.pc, context.x[1]) = (0x40_0010, base)
      var exception = ExceptionSnapshot(threadID: 1)
      (exception.signal, exception.code, exception.address) = (11, 1, 24)
      exception.context = .arm64(context)
      snapshot.exception = exception
      snapshot.memory = MemorySnapshot(joining: [
        MemoryRegion(address: 0x40_0010, bytes: [0x20, 0x0C, 0x40, 0xF9])  // ldr x0, [x1, #24]
      ])
      return try #require(snapshot.finding()).certainty
    }
    #expect(try certainty(0) == .certain && certainty(8) == .likely)
  }

  /// A program can send itself any code, for example to raise a fault again in a handler.
  @Test func aCodeWithoutAPageFaultIsNotCertain() throws {
    for (trap, certainty) in [(0, .likely), (13, .likely), (14, .certain), (nil, .certain)]
      as [(UInt64?, Finding.Certainty)]
    {
      #expect(try fault(at: 0, trap: trap, code: Self.load).certainty == certainty)
      #expect(try fault(at: 0x60_0000, 2, trap: trap).certainty == certainty)
      #expect(try fault(at: 0x70_0000, trap: trap).certainty == certainty)
    }
  }

  @Test func otherCodesAreNotNullPointers() throws {
    let shadowStack = try fault(at: 0, 10, trap: 21)
    #expect(shadowStack.kind == "control-protection" && shadowStack.certainty == .certain)
    #expect(shadowStack.evidence.first?.text == "signal SIGSEGV, SEGV_CPERR, si_addr 0x0")
    let late = try fault(at: 0, 8, trap: nil)
    #expect(late.kind == "memory-tag" && late.text.contains("reported it later"))
    let tag = try fault(at: 0x60_0010, 9, trap: nil)
    #expect(tag.kind == "memory-tag" && tag.text.hasPrefix("An access to 0x600010 with a pointer"))
    for code in [3, 5, 6, 7, 11, 99] as [Int32] {
      #expect(snapshot(at: 0, code).finding() == nil)
    }
  }

  @Test func theProtectionKeyIsNamed() throws {
    var info = [UInt8](repeating: 0, count: 128)
    info[32] = 7
    let found = try fault(at: 0x60_0010, 4, info: info)
    #expect(found.kind == "protected-memory" && found.certainty == .certain)
    #expect(
      found.text
        == "A read of 0x600010 in anonymous memory (0x600000-0x601000 rw-), which protection key 7"
        + " forbids."
    )
    #expect(try fault(at: 0x60_0010, 4).text.hasSuffix("which a protection key forbids."))
    #expect(try !fault(at: 0x60_0010, 2, info: info).text.contains("key"))
  }

  /// With five levels of page tables, or with pointers whose tags the processor ignores, such addresses are possible.
  @Test func addressesWithMoreBitsAreNotImpossible() throws {
    for (address, kind) in [
      (0x00AA_BBCC_DDEE_F000, "unmapped-memory"), (0x0200_0000_0060_2000, "impossible-address"),
    ] as [(UInt64, String)] {
      let found = try fault(at: address)
      #expect(found.kind == "unmapped-memory" && !found.text.contains("cannot be"))
      let unknown = try fault(at: address, trap: nil)
      #expect(unknown.kind == kind && unknown.text.contains("cannot be") == (kind != found.kind))
      if kind != found.kind { #expect(unknown.certainty == .likely) }
    }
    #expect(try fault(at: 0x7FFF_FFFF_F000, trap: nil).kind == "unmapped-memory")
  }

  private func delivered(_ signal: Int32, _ code: Int32, at bytes: [UInt8] = []) throws -> Finding {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var context = X86_64Context()
    context.rip = 0x1000
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code) = (signal, code)
    exception.context = .x86_64(context)
    exception.signalInfo = [UInt8](repeating: 0, count: 128)
    exception.signalInfo?[24] = 39
    exception.signalInfo?.replaceSubrange(28..<32, with: [0x3E, 0, 0, 0xC0])
    snapshot.exception = exception
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x1000, bytes: bytes)])
    return try #require(snapshot.finding())
  }

  @Test func systemCallsThatTheProgramDispatchesItself() throws {
    let dispatched = try delivered(31, 2)
    #expect(dispatched.kind == "dispatched-system-call")
    #expect(
      dispatched.text.hasPrefix("System call number 39 (getpid) raised SIGSYS because the program"))
    #expect(try delivered(31, 1).text.contains("seccomp"))
  }

  @Test func invalidReturnsOfTheKernelAreNotUnknownInstructions() throws {
    let code: [UInt8] = [0x06, 0x90, 0x90, 0x90, 0x90, 0x90]
    #expect(try delivered(4, 8, at: code).kind == "invalid-return")
    #expect(try delivered(4, 5, at: code).kind == "privileged-instruction")
    #expect(try delivered(4, 2, at: code).kind == "illegal-instruction")
  }
}
