import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashReport

/// What the words of a fault say of its cause.
@Suite struct WordCauseTests {
  private func snapshot(
    address: Address?, rdi: UInt64 = 0, code: Int32 = 1
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute], path: "/app")
    ]
    var context = X86_64Context()
    (context.rip, context.rsp, context.rdi) = (0x40_0010, 0x7F00_0000_0100, rdi)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code, exception.address) = (11, code, address)
    (exception.trapNumber, exception.trapErrorCode) = (code == 1 ? 14 : 13, code == 1 ? 4 : 0)
    exception.context = .x86_64(context)
    snapshot.exception = exception
    var thread = ThreadSnapshot(id: 1)
    (thread.captureMethod, thread.context) = (.crashed, .x86_64(context))
    snapshot.threads = [thread]
    return snapshot
  }

  private func explanation(_ snapshot: ProcessSnapshot, in function: String? = nil) -> String {
    var trace = StackTrace()
    if let function {
      var frame = StackFrame(
        address: 0x40_0010, isReturnAddress: false, trust: .context, stackPointer: nil,
        moduleIndex: nil)
      frame.symbol = FrameSymbol(linkageName: function, name: function, offset: 0)
      trace.frames = [frame]
    }
    let finding = CauseFinder(of: snapshot, trace: trace).finding
    #expect(finding != nil)
    return finding?.text ?? ""
  }

  @Test func aRegisterWithAFillIsToldWhereTheFaultHasNoAddress() {
    let text = explanation(
      snapshot(address: 0, rdi: 0x5A5A_5A5A_5A5A_5A5A, code: 0x80), in: "swift_retain")
    #expect(text.contains("The value of rdi is the byte 0x5a repeated, with which jemalloc fills"))
    #expect(text.contains("swift_retain was called on 0x5a5a5a5a5a5a5a5a, which is no object"))
  }

  @Test func anAddressAboveAFillIsToldByTheFill() {
    #expect(
      explanation(snapshot(address: 0xDEAD_BEF7)).contains(
        "The address minus 8 is made of 0xdeadbeef"))
  }

  @Test func theArgumentIsBlamedOnlyWhereTheFaultIsOnIt() {
    let wild: UInt64 = 0x1234_5678_9AB0
    #expect(
      explanation(snapshot(address: Address(wild + 8), rdi: wild), in: "_swift_release_").contains(
        "swift_release was called on 0x123456789ab0, which is no object of Swift"))
    #expect(
      !explanation(snapshot(address: Address(wild + 64), rdi: wild), in: "swift_release").contains(
        "no object of Swift"))
    #expect(
      !explanation(snapshot(address: Address(wild + 8), rdi: wild), in: "memcpy").contains(
        "no object of Swift"))
    #expect(!explanation(snapshot(address: 0x18), in: "swift_retain").contains("no object"))
  }

  @Test func anObjectThatLeadsToNoDeinitializerIsTold() {
    let object: UInt64 = 0x5555_0000_1230
    func text(_ rdi: UInt64, in function: String = "_swift_release_dealloc") -> String {
      explanation(snapshot(address: 0x77, rdi: rdi), in: function)
    }
    #expect(
      text(object).contains(
        "to deinitialize the object at 0x555500001230, but its first word leads to no deinitializer"
      ))
    #expect(!text(object, in: "$s4shop6BasketCfD").contains("deinitialize"))
    #expect(!text(object + 1).contains("deinitialize"))
    #expect(!text(0).contains("deinitialize"))
  }

  @Test func aCountInMemoryThatTheCLibraryHasFreedIsTold() {
    let object: UInt64 = 0x5555_0000_1230
    func text(_ word: UInt64, in function: String = "_ZN5swift9RefCountsI1xE4slowEv") -> String {
      var snapshot = snapshot(address: 0, rdi: object + 8, code: 0x80)
      snapshot.mappings.append(
        MemoryMapping(start: 0x5555_0000_0000, end: 0x5555_0001_0000, protection: [.read, .write]))
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      snapshot.memory = MemorySnapshot(
        joining: [MemoryRegion(address: Address(object), bytes: bytes)])
      return explanation(snapshot, in: function)
    }
    let freed = "the object at 0x555500001230, whose memory had been freed"
    #expect(text(object >> 12).contains(freed))
    #expect(text(object >> 12 ^ 0x5555_0000_4560).contains(freed))
    #expect(!text(object >> 12 ^ 0x5555_0000_4568).contains("freed"))
    #expect(!text(object >> 12 ^ 0x5556_0000_4560).contains("freed"))
    #expect(!text(0x5555_0000_8000).contains("freed"))
    #expect(!text(object >> 12, in: "memcpy").contains("freed"))
  }

  @Test func anAddressLikeAnyOtherHasNoWords() {
    let text = explanation(snapshot(address: 0x7F12_3456_7000))
    #expect(!text.contains("fill") && !text.contains("text") && !text.contains("mark"))
  }
}
