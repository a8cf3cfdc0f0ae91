import IntermediateDump
import ProcessSnapshot
import Testing

@testable import Stackwalk

@Suite struct UnwindingTests {
  private func walk(_ process: HandmadeProcess) -> StackTrace {
    let snapshot = process.snapshot
    return Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
  }

  @Test func followsFramePointers() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    let second = process.call(endingAt: 0x300)
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 10)
    process.words[5] = first
    process.words[10] = process.address(ofWord: 20)
    process.words[11] = second
    let trace = walk(process)
    #expect(trace.frames.map(\.address.value) == [HandmadeProcess.code + 0x100, first, second])
    #expect(trace.frames.map(\.trust) == [.context, .framePointer, .framePointer])
    #expect(trace.frames.map(\.isReturnAddress) == [false, true, true])
    #expect(trace.frames[1].lookupAddress.value == first - 1)
    #expect(trace.frames[1].stackPointer?.value == process.address(ofWord: 6))
    // Both words of the last record are zero: the function has no caller.
    #expect(trace.end == .bottom)
  }

  /// Without a module's file, it is not known whether its functions keep the frame pointer of their callers.
  @Test func framePointersAcrossCodeWithoutUnwindTablesAreGuesses() throws {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 10)
    process.words[5] = first
    let snapshot = process.snapshot
    func trusts(_ symbols: SymbolSource?) -> [FrameTrust] {
      Stackwalker(snapshot: snapshot, symbols: symbols)
        .trace(of: snapshot.threads[0], head: 100, tail: 0).frames.map(\.trust)
    }
    let symbols = SymbolSource()
    #expect(trusts(symbols) == [.context, .scan])
    #expect(
      symbols.note(on: snapshot.modules[0])?.contains("its unwind tables were not found") == true)
    // If no files are read, all frames are without tables, and the report says so once.
    #expect(trusts(SymbolSource(stored: nil, readsFiles: false)) == [.context, .framePointer])
    #expect(trusts(nil) == [.context, .framePointer])
  }

  @Test(arguments: [(1, 0), (1, 1), (0, 2), (2, 9)])
  func keepsBothEndsOfAsyncCallers(head: Int, tail: Int) throws {
    var process = HandmadeProcess()
    process.context.rbp = process.address(ofWord: 4)
    process.words[3] = process.address(ofWord: 10)
    var stored = StoredSymbols()
    let resumes = (0..<4).map { HandmadeProcess.code + 0x200 + UInt64($0) * 0x10 }
    for (index, resume) in resumes.enumerated() {
      process.words[10 + 2 * index] = index < 3 ? process.address(ofWord: 12 + 2 * index) : 0
      process.words[11 + 2 * index] = resume
    }
    for address in resumes + [process.context.rip] {
      stored.functions[Address(address)] = [.init(linkageName: "$s1a1fyyYaFTY0_", offset: 0)]
    }
    let snapshot = process.snapshot
    let trace = Stackwalker(
      snapshot: snapshot, symbols: SymbolSource(stored: stored, readsFiles: false)
    ).trace(of: snapshot.threads[0], head: head, tail: tail, runsTask: true)
    let calls = try #require(trace.asyncCalls)
    let omitted = max(0, 4 - head - tail)
    #expect(calls.omittedCount == omitted && calls.omittedAfter == (omitted > 0 ? head : 0))
    #expect(
      calls.frames.map(\.address.value) == resumes.prefix(head)
        + resumes.dropFirst(head).suffix(tail))
  }

  @Test func masksTheAsyncMark() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    let second = process.call(endingAt: 0x300)
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 10) | 1 << 60
    process.words[5] = first
    process.words[11] = second
    #expect(walk(process).frames.map(\.address.value).suffix(2) == [first, second])
  }

  @Test(arguments: [
    // Below the stack pointer, misaligned, outside the stack, and at the end of the address space.
    HandmadeProcess.stack - 16, HandmadeProcess.stack + 33, HandmadeProcess.stack + 0x10_0000,
    0, UInt64.max, UInt64.max - 15,
  ])
  func refusesAFramePointer(_ framePointer: UInt64) {
    var process = HandmadeProcess()
    process.context.rbp = framePointer
    let trace = walk(process)
    #expect(trace.frames.count == 1)
    #expect(trace.end == .lost)
  }

  @Test func refusesAChainThatDescends() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.context.rbp = process.address(ofWord: 10)
    process.words[10] = process.address(ofWord: 10)
    process.words[11] = first
    #expect(walk(process).frames.map(\.address.value) == [HandmadeProcess.code + 0x100, first])
  }

  @Test func refusesAReturnAddressBehindNoCall() {
    var process = HandmadeProcess()
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 10)
    process.words[5] = HandmadeProcess.code + 0x400
    #expect(walk(process).frames.count == 1)
  }

  @Test(arguments: [0, 0x1000, 0xDEAD_BEEF_0000])
  func findsTheCallerOfACallToNowhere(_ target: UInt64) {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    let second = process.call(endingAt: 0x300)
    process.context.rip = target
    process.words[0] = first
    process.context.rbp = process.address(ofWord: 6)
    process.words[7] = second
    let trace = walk(process)
    #expect(trace.frames.map(\.address.value) == [target, first, second])
    #expect(trace.frames.map(\.trust) == [.context, .returnAddress, .framePointer])
  }

  @Test func findsTheCallerFromABareReturn() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.codeBytes[0x100] = 0xC3
    process.words[0] = first
    #expect(walk(process).frames.map(\.trust) == [.context, .returnAddress])
  }

  @Test func scansWhereThereIsNoFramePointerAndThenFollowsTheSavedOne() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    let second = process.call(endingAt: 0x300)
    process.context.rbp = 6  // as libc uses the register
    process.words[3] = HandmadeProcess.code + 0x400  // not after a call
    process.words[8] = process.address(ofWord: 14)  // the saved frame pointer
    process.words[9] = first
    process.words[15] = second
    let trace = walk(process)
    #expect(trace.frames.map(\.address.value) == [HandmadeProcess.code + 0x100, first, second])
    #expect(trace.frames.map(\.trust) == [.context, .scan, .framePointer])
  }

  /// A dump made without /proc: it has no mappings and modules, and the stack is with the thread.
  private func withoutMappings(_ process: HandmadeProcess) -> ProcessSnapshot {
    var snapshot = process.snapshot
    snapshot.mappings = []
    snapshot.modules = []
    let stack = snapshot.memory.regions.filter { $0.address.value == HandmadeProcess.stack }
    snapshot.threads[0].stack = stack
    return snapshot
  }

  /// Without mappings and modules, code cannot be distinguished from data whose bytes look like a call.
  @Test(arguments: [ReportPrivacy.full, .sanitized])
  func scansNothingWhereNoMemoryIsKnownToBeCode(privacy: ReportPrivacy) {
    var process = HandmadeProcess()
    let data = process.call(endingAt: 0x200)
    process.words[6] = data
    // The stack's own words contain the bytes of a call, and the address after it.
    process.words[20] = 0x0403_0201_E800_0000
    process.words[5] = process.address(ofWord: 21)
    var snapshot = withoutMappings(process)
    snapshot = snapshot.keeping(privacy, symbols: nil)
    let trace = Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
    #expect(trace.frames.map(\.address.value) == [HandmadeProcess.code + 0x100])
  }

  /// If it is unknown which memory is code, frame pointers are followed, but a return address is never inside a
  /// stack.
  @Test func followsFramePointersWhereNoMemoryIsKnownToBeCode() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 10)
    process.words[5] = first
    process.words[10] = process.address(ofWord: 20)
    process.words[11] = process.address(ofWord: 21)
    let snapshot = withoutMappings(process)
    let trace = Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
    #expect(trace.frames.map(\.address.value) == [HandmadeProcess.code + 0x100, first])
  }

  @Test func crossesASignalHandler() {
    var process = HandmadeProcess()
    // The instructions `mov rax, 15` and `syscall`.
    process.codeBytes.replaceSubrange(
      0x500..<0x509, with: [0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05])
    let trampoline = HandmadeProcess.code + 0x500
    let caller = process.call(endingAt: 0x200)
    process.context.rbp = process.address(ofWord: 2)
    process.words[3] = trampoline
    // The ucontext starts at word 4; its registers are 5 words further.
    process.words[4 + 5 + 10] = process.address(ofWord: 50)
    process.words[4 + 5 + 15] = process.address(ofWord: 40)
    process.words[4 + 5 + 16] = HandmadeProcess.code + 0x120
    process.words[51] = caller
    let trace = walk(process)
    #expect(
      trace.frames.map(\.address.value)
        == [HandmadeProcess.code + 0x100, trampoline, HandmadeProcess.code + 0x120, caller])
    #expect(trace.frames[2].trust == .signalFrame)
    #expect(!trace.frames[2].isReturnAddress)
  }

  @Test func startsFromAStackPointerBelowTheStack() {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.context.rsp = HandmadeProcess.stack - 0x100_0000
    process.context.rbp = process.address(ofWord: 4)
    process.words[5] = first
    #expect(walk(process).frames.map(\.trust) == [.context, .framePointer])
  }

  @Test func goesOnAboveAGap() {
    var process = HandmadeProcess()
    let calls = (2...6).map { process.call(endingAt: $0 * 0x100) }
    process.context.rbp = process.address(ofWord: 4)
    process.words[4] = process.address(ofWord: 30)
    process.words[5] = calls[0]
    // A pair of stale words, then the chain of records.
    process.words[42] = process.address(ofWord: 43)
    process.words[43] = calls[4]
    process.words[45] = process.address(ofWord: 50)
    process.words[46] = calls[1]
    process.words[50] = process.address(ofWord: 55)
    process.words[51] = calls[2]
    process.words[55] = process.address(ofWord: 60)
    process.words[56] = calls[3]
    var snapshot = process.snapshot
    let stack = snapshot.memory.regions.last!
    snapshot.memory = MemorySnapshot(joining: [
      snapshot.memory.regions[0],
      MemoryRegion(address: stack.address, bytes: Array(stack.bytes[..<160])),
      MemoryRegion(address: stack.address &+ 320, bytes: Array(stack.bytes[320...])),
    ])
    let trace = Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
    #expect(trace.hasGap)
    #expect(trace.frames.map(\.address.value).dropFirst() == calls[..<4])
    #expect(
      trace.frames.map(\.trust) == [
        .context, .framePointer, .afterGap, .framePointer, .framePointer,
      ])
    #expect(trace.end == .bottom)
  }

  /// Functions without frame pointers, whose frames only call frame information describes.
  ///
  /// The part below the gap ends with a frame, or within the next one.
  @Test(arguments: [128, 136])
  func goesOnAboveAGapByCallFrameInformation(_ kept: Int) throws {
    var process = HandmadeProcess()
    process.context.rbp = 6
    let call = process.call(endingAt: 0x200)
    let end = process.call(endingAt: 0x300)
    // Frames of four words, of which the return address is the last.
    for frame in 0..<14 { process.words[frame * 4 + 3] = call }
    process.words[14 * 4 + 3] = end
    let image = HandmadeImage(
      at: HandmadeProcess.code,
      functions: [
        (0x100..<0x280, [0x0E, 32]),
        // The return address of the first function is undefined.
        (0x280..<0x400, [0x07, 16]),
      ])
    process.codeBytes.replaceSubrange(0x800..<0x800 + image.frames.count, with: image.frames)
    process.codeBytes.replaceSubrange(0..<image.header.count, with: image.header)
    var snapshot = process.snapshot
    let whole = Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
    #expect(whole.frames.count == 16)
    #expect(whole.frames.dropFirst().allSatisfy { $0.trust == .callFrameInformation })
    #expect(whole.end == .bottom)
    #expect(whole.recursion == nil || whole.recursion?.period == 1)
    let stack = try #require(snapshot.memory.regions.last)
    snapshot.memory = MemorySnapshot(joining: [
      snapshot.memory.regions[0],
      MemoryRegion(address: stack.address, bytes: Array(stack.bytes[..<kept])),
      MemoryRegion(address: stack.address &+ 320, bytes: Array(stack.bytes[320...])),
    ])
    let trace = Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 0)
    #expect(trace.hasGap)
    #expect(trace.end == .bottom)
    // Words 3 to 15 have four callers; above the gap, words 43 to 59 have five.
    #expect(trace.frames.map(\.trust).filter { $0 == .afterGap }.count == 1)
    #expect(trace.frames.count == 1 + 4 + 5)
    #expect(trace.frames.last?.address.value == end)
    #expect(trace.recursion?.estimatedInGap == 6)
  }

  @Test(
    arguments: [
      // The instructions after the call: `hlt` in _start, and `mov rdi, rax; mov eax, 60; syscall` in clone3.
      [0xF4], [0x48, 0x89, 0xC7, 0xB8, 0x3C, 0, 0, 0, 0x0F, 0x05],
      [0x89, 0xC7, 0xB8, 0x3C, 0, 0, 0, 0x0F, 0x05],
    ] as [[UInt8]])
  func knowsTheFirstFunction(_ code: [UInt8]) {
    var process = HandmadeProcess()
    let first = process.call(endingAt: 0x200)
    process.codeBytes.replaceSubrange(0x200..<0x200 + code.count, with: code)
    process.words[5] = first
    process.words[9] = process.call(endingAt: 0x300)
    let trace = walk(process)
    #expect(trace.frames.map(\.address.value) == [HandmadeProcess.code + 0x100, first])
    #expect(trace.end == .bottom)
  }

  @Test func endsOnACycleOfSignalFrames() {
    var process = HandmadeProcess()
    process.words = Array(repeating: 0, count: 128)
    process.codeBytes.replaceSubrange(
      0x500..<0x509, with: [0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05])
    process.context.rbp = process.address(ofWord: 2)
    process.words[3] = HandmadeProcess.code + 0x500
    process.words[4 + 5 + 10] = process.address(ofWord: 2)
    process.words[4 + 5 + 15] = process.address(ofWord: 0)
    process.words[4 + 5 + 16] = HandmadeProcess.code + 0x120
    let trace = walk(process)
    #expect(trace.end == .lost)
    #expect(trace.frames.count < 100)
  }

  @Test func recognisesCalls() {
    func ends(_ bytes: [UInt8]) -> Bool {
      let code = [UInt8](repeating: 0x90, count: 8 - bytes.count) + bytes
      return CallInstruction.ends(code, architecture: .x86_64)
    }
    #expect(ends([0xE8, 0, 0, 0, 0]))  // call rel32
    #expect(ends([0xFF, 0xD0]))  // call rax
    #expect(ends([0x41, 0xFF, 0xD4]))  // call r12
    #expect(ends([0xFF, 0x10]))  // call [rax]
    #expect(ends([0xFF, 0x50, 0x18]))  // call [rax + 24]
    #expect(ends([0xFF, 0x14, 0x24]))  // call [rsp]
    #expect(ends([0xFF, 0x54, 0x24, 0x08]))  // call [rsp + 8]
    #expect(ends([0xFF, 0x90, 0, 1, 0, 0]))  // call [rax + 256]
    #expect(ends([0xFF, 0x15, 1, 2, 3, 4]))  // call [rip + n]
    #expect(ends([0xFF, 0x94, 0x24, 0, 1, 0, 0]))  // call [rsp + 256]
    #expect(!ends([0xFF, 0xE0]))  // jmp rax
    #expect(!ends([0xFF, 0x25, 1, 2, 3, 4]))  // jmp [rip + n]
    #expect(!ends([0xE9, 0, 0, 0, 0]))  // jmp rel32
    #expect(!ends([0xFF, 0x54, 0x24]))  // a truncated call
    // bl
    #expect(CallInstruction.ends([0, 0, 0, 0, 0x02, 0, 0, 0x94], architecture: .arm64))
    // blr x8
    #expect(CallInstruction.ends([0, 0, 0, 0, 0x00, 0x01, 0x3F, 0xD6], architecture: .arm64))
    // ret
    #expect(!CallInstruction.ends([0, 0, 0, 0, 0xC0, 0x03, 0x5F, 0xD6], architecture: .arm64))
  }

  @Test func endsOnAnyStack() {
    var generator = FixedGenerator(seed: 1)
    for _ in 0..<200 {
      var process = HandmadeProcess()
      for index in process.words.indices {
        process.words[index] =
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: process.address(ofWord: Int.random(in: -2..<70, using: &generator))
          case 1: HandmadeProcess.code &+ UInt64.random(in: 0..<0x1100, using: &generator)
          case 2: UInt64.max &- UInt64.random(in: 0..<64, using: &generator)
          default: UInt64.random(in: 0...UInt64.max, using: &generator)
          }
      }
      for offset in stride(from: 0x20, to: 0x1000, by: 0x10) { _ = process.call(endingAt: offset) }
      process.context.rip = process.words[0]
      process.context.rbp = process.words[1]
      process.context.rsp = process.words[2]
      #expect(walk(process).frames.count <= 100)
    }
  }
}
