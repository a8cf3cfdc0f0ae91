import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Faults of calls and returns to wrong addresses.
@Suite struct CalledAddressTests {
  private static let stack: UInt64 = 0x7F00_0000_1000

  private func bytes(_ words: UInt64...) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  /// - Parameters:
  ///   - words: the words from 8 bytes below the stack pointer on.
  ///   - code: the bytes that end at the address 0x400020.
  private func snapshot(
    at place: UInt64, _ code: Int32 = 1, words: [UInt8], code bytes: [UInt8] = [],
    memory: [MemoryRegion] = [], registers: (inout X86_64Context) -> Void = { _ in }
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var context = X86_64Context()
    (context.rip, context.rsp) = (place, Self.stack)
    registers(&context)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code) = (11, code)
    exception.address = code == 0x80 ? nil : Address(place)
    (exception.trapNumber, exception.trapErrorCode) = (code == 0x80 ? 13 : 14, 0x14)
    exception.context = .x86_64(context)
    snapshot.exception = exception
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute], path: "/app"),
      MemoryMapping(start: 0x60_0000, end: 0x61_0000, protection: [.read, .write]),
      MemoryMapping(
        start: Address(Self.stack - 0x1000), end: Address(Self.stack + 0x1000),
        protection: [.read, .write]),
    ]
    let start = Address(0x40_0020 - UInt64(bytes.count))
    snapshot.memory = MemorySnapshot(
      joining: [
        MemoryRegion(address: Address(Self.stack - 8), bytes: words),
        MemoryRegion(address: start, bytes: bytes),
      ] + memory)
    return snapshot
  }

  private func finding(_ snapshot: ProcessSnapshot) throws -> Finding {
    try #require(snapshot.finding())
  }

  private static let call: [UInt8] = [0xFF, 0x90, 0x90, 0, 0, 0]  // call *0x90(%rax)
  private static let letters: UInt64 = 0x4141_4141_4141_4141

  @Test func aReturnThatTheProcessorStoppedIsAnOverwrittenReturnAddress() throws {
    func stopped(_ code: [UInt8], _ word: UInt64) throws -> Finding {
      let start = 0x40_0020 - UInt64(code.count)
      return try finding(
        snapshot(at: start, 0x80, words: bytes(0, word), code: code) { $0.rbp = Self.letters })
    }
    let found = try stopped([0xC3], Self.letters)
    #expect(found.kind == "overwritten-return-address" && found.certainty == .certain)
    #expect(
      found.text.hasPrefix(
        "A function returned to 0x4141414141414141, from which it was not called"))
    #expect(!found.text.contains("freed"))
    #expect(try stopped([0xF3, 0xC3], Self.letters).kind == "overwritten-return-address")
    // The return address is fine, or the instruction is another one.
    #expect(try stopped([0xC3], 0x40_0100).kind == "general-protection")
    #expect(try stopped([0x8B, 0x45, 0x08], Self.letters).kind == "general-protection")
  }

  @Test func aReturnToAnAddressWithoutCodeIsToldFromACall() throws {
    let wrong: UInt64 = 0x4141_4141_4141
    let returned = try finding(snapshot(at: wrong, words: bytes(wrong, wrong)))
    #expect(returned.kind == "overwritten-return-address" && returned.certainty == .likely)
    #expect(returned.text.hasPrefix("A function most likely returned to 0x414141414141"))
    // A word of code follows, and the instruction before it is no call.
    let after = snapshot(
      at: wrong, words: bytes(wrong, 0x40_0020), code: [0x90, 0x90, 0x90, 0x90, 0x90])
    #expect(try finding(after).kind == "overwritten-return-address")
    let called = snapshot(at: wrong, words: bytes(wrong, 0x40_0020), code: Self.call)
    #expect(try finding(called).kind == "unmapped-memory")
    let jumped = snapshot(at: wrong, words: bytes(0, wrong))
    #expect(try finding(jumped).kind == "unmapped-memory")
    let null = try finding(snapshot(at: 0, words: bytes(7, 0x40_0020), code: Self.call))
    #expect(null.kind == "null-call" && null.certainty == .certain)
    // A function returned to data, as after a write of an address of the stack.
    let data = snapshot(at: Self.stack + 64, 2, words: bytes(Self.stack + 64, 1))
    #expect(try finding(data).kind == "overwritten-return-address")
    // Without mappings, it is not known whether a word points to code.
    var unmapped = snapshot(at: 0, words: bytes(0, 0x40_0020), code: Self.call)
    unmapped.mappings = []
    #expect(try finding(unmapped).kind == "null-call")
  }

  @Test func returnsOfARM64() throws {
    func kind(link: UInt64) throws -> String {
      var snapshot = ProcessSnapshot(architecture: .arm64)
      var context = ARM64Context()
      (context.pc, context.x[30]) = (0x4141_4140, link)
      var exception = ExceptionSnapshot(threadID: 1)
      (exception.signal, exception.code, exception.address) = (11, 1, 0x4141_4140)
      exception.context = .arm64(context)
      snapshot.exception = exception
      snapshot.mappings = [MemoryMapping(start: 0x1000, end: 0x2000, protection: [.read])]
      return try finding(snapshot).kind
    }
    #expect(try kind(link: 0x4141_4140) == "overwritten-return-address")
    #expect(try kind(link: 0x1004) == "unmapped-memory")
  }

  /// A class whose metadata has 0x90 bytes has no method at 0x90.
  @Test(arguments: [(0x90 as UInt64, true), (0x98, false), (0x18, false)])
  func aMethodPastTheEndOfTheMetadataIsOfAnotherClass(_ size: UInt64, _ isTold: Bool) throws {
    let (object, metadata): (UInt64, UInt64) = (0x60_1000, 0x60_2000)
    let memory = [
      MemoryRegion(address: Address(object), bytes: bytes(metadata, 3)),
      MemoryRegion(
        address: Address(metadata),
        bytes: bytes(0, 0, 0, 0x0007_0000_0018, (16 << 32) | (size + 16), 0x40_0800)),
    ]
    func call(_ rax: UInt64) throws -> Finding {
      try finding(
        snapshot(at: 0, words: bytes(7, 0x40_0020), code: Self.call, memory: memory) {
          ($0.rax, $0.r13) = (rax, object)
        })
    }
    let found = try call(metadata)
    #expect(found.kind == "null-call")
    #expect(found.certainty == (isTold ? .likely : .certain))
    #expect(found.evidence.contains(.noMethod(Address(object))) == isTold)
    #expect(found.text.contains("is of another class than the code expects") == isTold)
    #expect(try call(0x60_3000).certainty == .certain)
  }

  /// Code before the fault that may have changed the register of `self`.
  @Test(
    arguments: [
      // mov rax, [r13]; mov [rbp - 8], r13; push r13; cmp qword ptr [r13 + 0x10], 0; mov rdi, r13
      ([0x49, 0x8B, 0x45, 0], false), ([0x4C, 0x89, 0x6D, 0xF8], false),
      ([0x41, 0x55, 0x90], false),
      ([0x49, 0x83, 0x7D, 0x10, 0], false), ([0x4C, 0x89, 0xEF], false),
      // mov r13, rax; mov r13, [rbp - 8]; pop r13; xor r13d, r13d; mov r13d, 1; add r13, 8
      ([0x49, 0x89, 0xC5], true), ([0x4C, 0x8B, 0x6D, 0xF8], true), ([0x41, 0x5D, 0xC3], true),
      ([0x45, 0x31, 0xED], true), ([0x41, 0xBD, 1, 0, 0, 0], true), ([0x49, 0x83, 0xC5, 8], true),
    ] as [([UInt8], Bool)])
  func aWriteToTheRegisterOfSelfIsSeen(_ code: [UInt8], _ changes: Bool) {
    #expect(RegisterWrites.changeSelf(code) == changes)
    #expect(RegisterWrites.changeSelf([0x90, 0x90] + code) == changes)
  }

  @Test(
    arguments: [
      ([0xEB, 0xFC], true), ([0x75, 0xF0], true), ([0x90, 0xE9, 0xF0, 0xFF, 0xFF, 0xFF], true),
      ([0x0F, 0x84, 0xF0, 0xFF, 0xFF, 0xFF], true), ([0xEB, 0x10], false), ([0xEB, 0xFE], false),
      // Farther back than the beginning of the method, and an operand.
      ([0xEB, 0x80], false), ([0x48, 0x8D, 0x7D, 0xD0], false),
    ] as [([UInt8], Bool)])
  func aJumpBackIsSeen(_ code: [UInt8], _ jumps: Bool) {
    #expect(RegisterWrites.jumpsBack(code, by: 32) == jumps)
  }
}
