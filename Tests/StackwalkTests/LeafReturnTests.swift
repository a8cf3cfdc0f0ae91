import CrashTestSupport
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// Callers whose address is only in arm64's link register, in modules without a file.
@Suite struct LeafReturnTests {
  private static let library: UInt64 = 0x40_0000
  private static let program: UInt64 = 0x50_0000
  private static let stack: UInt64 = 0x7F00_0000_0000
  private static let bl: UInt32 = 0x9400_0010
  private static let nop: UInt32 = 0xD503_201F
  private static let ret: UInt32 = 0xD65F_03C0

  /// The frames of a thread after a system call in the library.
  ///
  /// The return address of the call is at offset 0x100, and a frame record leads to offset 0x400.
  ///
  /// - Parameters:
  ///   - code: the instructions after the call; nil if the dump has no code.
  ///   - link: the value of the link register.
  ///   - call: the kernel's text on the system call that the thread is in.
  private func frames(_ code: [UInt32]?, link: UInt64, call: String? = nil) -> [StackFrame] {
    var snapshot = ProcessSnapshot(architecture: .arm64)
    var context = ARM64Context()
    context.x[29] = Self.stack + 0x40
    context.x[30] = link
    (context.sp, context.pc) = (Self.stack, Self.library + 0x100)
    var thread = ThreadSnapshot(id: 7)
    thread.context = .arm64(context)
    thread.systemCall = call
    snapshot.threads = [thread]
    snapshot.exception = ExceptionSnapshot(threadID: 7)
    for (start, name) in [(Self.library, "/none/library"), (Self.program, "/none/program")] {
      snapshot.mappings.append(
        MemoryMapping(
          start: Address(start), end: Address(start + 0x4000), protection: [.read, .execute],
          path: name))
      snapshot.modules.append(ModuleSnapshot(address: Address(start), size: 0x4000, path: name))
    }
    snapshot.mappings.append(
      MemoryMapping(
        start: Address(Self.stack), end: Address(Self.stack + 0x100), protection: [.read, .write]))
    var words = [UInt64](repeating: 0, count: 32)
    words[9] = Self.library + 0x400
    var regions = [
      MemoryRegion(address: Address(Self.stack), bytes: words.flatMap { littleEndian($0) })
    ]
    if let code {
      // There is a call before each return address.
      var instructions = [UInt32](repeating: Self.nop, count: 0x400)
      instructions.replaceSubrange(0x40..<0x40 + code.count, with: code)
      for offset in [0x200, 0x400] { instructions[offset / 4 - 1] = Self.bl }
      let bytes = instructions.flatMap { littleEndian(UInt64($0), 4) }
      for start in [Self.library, Self.program] {
        regions.append(MemoryRegion(address: Address(start), bytes: bytes))
      }
    }
    snapshot.memory = MemorySnapshot(joining: regions)
    return Stackwalker(snapshot: snapshot, symbols: nil).frames(
      of: snapshot.threads[0], limit: 10)
  }

  private static let pc = library + 0x100

  @Test func aThreadInASystemCallThatItsWrapperReturnsFromAtOnce() {
    let found = frames([Self.ret], link: Self.library + 0x200)
    #expect(
      found.map(\.address.value) == [Self.pc, Self.library + 0x200, Self.library + 0x400])
    #expect(found.map(\.trust) == [.context, .returnAddress, .framePointer])
    #expect(found.dropFirst().first?.stackPointer?.value == Self.stack)
  }

  @Test func whatTheWrapperHasOnTheStackIsNotTheCallers() {
    // The code is `cmn x0, #4095`, `b.hi 8`, `ldr x19, [sp], #16`, `add sp, sp, #32`.
    let code: [UInt32] = [0xB13F_FC1F, 0x5400_0048, 0xF841_07F3, 0x9100_83FF, Self.ret]
    let found = frames(code, link: Self.library + 0x200)
    #expect(found.dropFirst().first?.address.value == Self.library + 0x200)
    #expect(found.dropFirst().first?.stackPointer?.value == Self.stack + 48)
  }

  @Test(arguments: [
    // The instruction `ldp x29, x30, [sp], #32`.
    [0xA8C2_7BFD, Self.ret],
    // The instruction `ldr x30, [sp], #16`.
    [0xF841_07FE, Self.ret],
    // Another call follows, or a jump.
    [Self.bl, Self.ret], [0x1400_0010, Self.ret],
    // The instruction `mrs x30, nzcv`.
    [0xD53B_421E, Self.ret],
    // The instruction `mov sp, x29`.
    [0x9100_03BF, Self.ret],
    // No return within reach.
    [UInt32](repeating: Self.nop, count: 16),
  ])
  func afterACallTheRegisterHoldsAnAddressOfTheFunctionsOwn(_ code: [UInt32]) {
    let found = frames(code, link: Self.library + 0x200)
    #expect(found.map(\.address.value) == [Self.pc, Self.library + 0x400])
  }

  @Test func withoutTheCodeAnAddressInAnotherModuleIsTheCallers() {
    let other = frames(nil, link: Self.program + 0x200).map(\.address.value)
    #expect(other == [Self.pc, Self.program + 0x200, Self.library + 0x400])
    for link in [Self.library + 0x200, Self.library + 0x2200] {
      let own = frames(nil, link: link).map(\.address.value)
      #expect(own == [Self.pc, Self.library + 0x400])
    }
  }

  /// A function like glibc 2.43's `__syscall_cancel_arch`, whose code is not in the dump.
  @Test func withoutTheCodeAnAddressFarFromTheSystemCallIsTheCallers() {
    let far = frames(nil, link: Self.library + 0x2200, call: "73 0x0").map(\.address.value)
    #expect(far == [Self.pc, Self.library + 0x2200, Self.library + 0x400])
    let near = frames(nil, link: Self.library + 0x200, call: "73 0x0").map(\.address.value)
    #expect(near == [Self.pc, Self.library + 0x400])
    let none = frames(nil, link: Self.library + 0x2200, call: "running").map(\.address.value)
    #expect(none == near)
  }

  @Test func aWordThatIsBehindNoCallIsNoCaller() {
    let found = frames([Self.ret], link: Self.library + 0x300)
    #expect(found.map(\.address.value) == [Self.pc, Self.library + 0x400])
  }
}
