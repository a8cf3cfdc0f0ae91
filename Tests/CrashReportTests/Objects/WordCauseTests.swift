import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Causes that the words in registers and memory show.
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

  private func explanation(_ snapshot: ProcessSnapshot, in functions: String?...) -> String {
    var trace = StackTrace()
    trace.frames = functions.map { function in
      var frame = StackFrame(
        address: 0x40_0010, isReturnAddress: false, trust: .context, stackPointer: nil,
        moduleIndex: nil)
      frame.symbol = function.map { FrameSymbol(linkageName: $0, name: $0, offset: 0) }
      return frame
    }
    let finding = CauseFinder(of: snapshot, trace: trace).finding
    #expect(finding != nil)
    return finding?.text ?? ""
  }

  @Test func aRegisterWithAFillIsToldWhereTheFaultHasNoAddress() {
    let text = explanation(
      snapshot(address: 0, rdi: 0x5A5A_5A5A_5A5A_5A5A, code: 0x80), in: "swift_retain")
    #expect(text.contains("The value of rdi is the byte 0x5a repeated, with which jemalloc fills"))
    #expect(
      text.contains("swift_retain was called on 0x5a5a5a5a5a5a5a5a, which is not a Swift object"))
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
        "swift_release was called on 0x123456789ab0, which is not a Swift object"))
    #expect(
      !explanation(snapshot(address: Address(wild + 64), rdi: wild), in: "swift_release").contains(
        "not a Swift object"))
    #expect(
      !explanation(snapshot(address: Address(wild + 8), rdi: wild), in: "memcpy").contains(
        "not a Swift object"))
    #expect(
      !explanation(snapshot(address: 0x18), in: "swift_retain").contains("not a Swift object"))
  }

  @Test func anObjectThatLeadsToNoDeinitializerIsTold() {
    let object: UInt64 = 0x5555_0000_1230
    let told = "to deinitialize the object at 0x555500001230, but its first word leads to no"
    let toldWithoutAddress = "to deinitialize an object, but its first word leads to no"
    func text(rip: UInt64 = 0x40_0010, _ names: String?...) -> String {
      var snapshot = snapshot(address: 0x77, rdi: object)
      var context = X86_64Context()
      (context.rip, context.rsp, context.rdi) = (rip, 0x7F00_0000_0100, object)
      snapshot.exception?.context = .x86_64(context)
      return switch names.count {
      case 1: explanation(snapshot, in: names[0])
      default: explanation(snapshot, in: names[0], names[1])
      }
    }
    #expect(text("_swift_release_dealloc").contains(told))
    // The crash is a jump to data.
    #expect(text(rip: 0x5555_0000_2000, nil, "_swift_release_dealloc").contains(told))
    // The function is not a deinitializer.
    #expect(text("$s4shop3buyyyF", "_swift_release_dealloc").contains(toldWithoutAddress))
    // The functions are deinitializers, one of them without a name.
    for name in ["$s4shop6BasketCfD", "$s4shop6BasketCfDTm", "objectdestroy", nil] {
      #expect(!text(name, "_swift_release_dealloc").contains("deinitialize"))
    }
    #expect(!text("$s4shop6BasketCfD").contains("deinitialize"))
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

  @Test func anAddressComputedFromTheFirstWordOfFreedMemoryIsTold() {
    let object: UInt64 = 0x5555_0000_1230
    func text(_ word: UInt64, fault: UInt64, onStack: Bool = false) -> String {
      var snapshot = snapshot(address: Address(fault), rdi: onStack ? 0 : object)
      snapshot.mappings.append(
        MemoryMapping(start: 0x5555_0000_0000, end: 0x5555_0001_0000, protection: [.read, .write]))
      func bytes(_ word: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
      snapshot.memory = MemorySnapshot(joining: [
        MemoryRegion(address: Address(object), bytes: bytes(word)),
        MemoryRegion(address: 0x7F00_0000_0108, bytes: bytes(onStack ? object : 0)),
      ])
      return explanation(snapshot, in: "$s4shop6BasketC5priceyS2iF")
    }
    let linked = object >> 12 ^ 0x5555_0000_4560
    let used = "computed from the first word of the memory at 0x555500001230, which"
    #expect(text(linked, fault: linked + 0x58).contains(used + " rdi points to"))
    #expect(text(object >> 12, fault: object >> 12 &- 8).contains(used + " rdi points to"))
    #expect(
      text(linked, fault: linked, onStack: true).contains(used + " a pointer on the stack leads to")
    )
    // Too far away, and words that no allocator has written.
    #expect(!text(linked, fault: linked + 4096).contains("freed"))
    #expect(!text(linked, fault: linked - 65).contains("freed"))
    #expect(!text(linked + 8, fault: linked + 8).contains("freed"))
    #expect(!text(0x5555_0000_8000, fault: 0x5555_0000_8008).contains("freed"))
  }

  /// tcmalloc, and glibc before 2.32, end their lists of freed blocks with a null in the first word.
  @Test func aNullThatMayBeAFreedObjectsFirstWordIsNotToldToBeAnOptional() {
    let object: UInt64 = 0x5555_0000_1230
    func text(_ word: UInt64) -> String {
      var snapshot = snapshot(address: 0x50, rdi: object)
      snapshot.mappings.append(
        MemoryMapping(start: 0x5555_0000_0000, end: 0x5555_0001_0000, protection: [.read, .write]))
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      snapshot.memory = MemorySnapshot(joining: [
        // mov rax, [rax + 0x50]
        MemoryRegion(address: 0x40_0010, bytes: [0x48, 0x8B, 0x40, 0x50]),
        MemoryRegion(address: Address(object), bytes: bytes),
      ])
      return explanation(snapshot, in: "$s4shop6BasketC5priceyS2iF")
    }
    #expect(text(0x40_0800).contains("rax is null: an optional"))
    #expect(!text(0).contains("optional"))
  }

  @Test func anAddressLikeAnyOtherHasNoWords() {
    let text = explanation(snapshot(address: 0x7F12_3456_7000))
    #expect(!text.contains("fill") && !text.contains("text") && !text.contains("mark"))
  }
}
