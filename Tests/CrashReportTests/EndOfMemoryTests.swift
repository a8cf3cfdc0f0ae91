import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Faults next to stacks, mappings and modules at the ends of the address space, where arithmetic used to trap.
@Suite struct EndOfMemoryTests {
  private static let extremes: [UInt64] = [
    0, 8, 0x1000, 1 << 47, (1 << 63) - 1, 1 << 63, .max - 0x10_0000, .max - 0x1000, .max - 8, .max,
  ]

  private func snapshot(
    fault: UInt64?, stackPointer: UInt64, framePointer: UInt64, stack: AddressRange,
    trap: UInt64 = 14
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var context = X86_64Context()
    (context.rsp, context.rbp, context.rip) = (stackPointer, framePointer, .max)
    var exception = ExceptionSnapshot(threadID: 1)
    exception.signal = 11
    exception.code = fault == nil ? 0x80 : 1
    exception.address = fault.map { Address($0) }
    exception.trapNumber = trap
    exception.trapErrorCode = 6
    exception.context = .x86_64(context)
    snapshot.exception = exception
    var thread = ThreadSnapshot(id: 1)
    thread.context = .x86_64(context)
    thread.stackRange = stack
    snapshot.threads = [thread]
    snapshot.process.processID = 1
    snapshot.mappings = [
      MemoryMapping(range: AddressRange(start: 0, byteCount: 1), protection: []),
      MemoryMapping(
        range: AddressRange(start: 0x8000_0000_0000_0000, byteCount: 1 << 62), protection: [.read]),
      MemoryMapping(range: AddressRange(start: .highest, byteCount: 1), protection: [.write]),
    ]
    snapshot.modules = [
      ModuleSnapshot(address: 0, size: .max, path: "/a"),
      ModuleSnapshot(address: .highest, size: .max, path: "/b"),
    ]
    snapshot.memory = MemorySnapshot(joining: [
      MemoryRegion(address: .highest &- 63, bytes: Array(repeating: 1, count: 64))
    ])
    return snapshot
  }

  /// Writes a report in every form.
  private func show(_ snapshot: ProcessSnapshot) throws -> CrashReport {
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    #expect(try !report.jsonObject.isEmpty)
    #expect(!TextReport.text(of: report).isEmpty && !HTMLReport.text(of: report).isEmpty)
    return report
  }

  @Test func anyFaultBesideAnyStack() throws {
    for start in Self.extremes {
      for size in [1, 0x1000, 1 << 63, .max] as [UInt64] {
        let stack = AddressRange(start: Address(start), byteCount: size)
        for pointer in Self.extremes {
          for fault in [start &- 8, start &- 0x20_0000, .max] {
            let snapshot = snapshot(
              fault: fault, stackPointer: pointer, framePointer: start &+ size / 2, stack: stack)
            _ = snapshot.finding()
          }
          let sent = snapshot(
            fault: nil, stackPointer: pointer, framePointer: 0, stack: stack, trap: 0)
          _ = sent.finding()
        }
      }
    }
  }

  @Test func aStackAtTheVeryEndOverflows() throws {
    let stack = AddressRange(start: .highest &- 0xFFF, byteCount: 0x1000)
    let report = try show(
      snapshot(
        fault: stack.start.value - 8, stackPointer: stack.start.value - 8, framePointer: 0,
        stack: stack))
    #expect(report.cause?.kind == "stack-overflow")
    #expect(report.explanation?.contains("4096 bytes) and next to the stack pointer") == true)
  }

  @Test func theLastByteIsShown() throws {
    let stack = AddressRange(start: 0x1000, byteCount: 0x1000)
    let report = try show(
      snapshot(fault: .max, stackPointer: .max - 7, framePointer: .max, stack: stack))
    let memory = try #require(report.snapshot.memoryExcerpts.first { $0.about == "fault" })
    #expect(memory.target == .highest)
    #expect(memory.bytes.count == 64)
    // The address after the last byte cannot be represented.
    let mappings = try #require(try report.jsonObject["mappings"] as? [[String: Any]])
    #expect(mappings.last?["end"] as? String == "0xffffffffffffffff")
  }

  @Test func loadsThatAreNoNumbersAreNone() throws {
    for text in ["nan 1 2", "1 inf 2", "1 2 -inf", "1e999 0 0"] {
      var snapshot = ProcessSnapshot(architecture: .x86_64)
      snapshot.system.loadAverage = text
      #expect(Resources(try show(snapshot).snapshot).loadAverage == nil)
    }
  }

  @Test(arguments: [Int64.min, .min + 1, -1, 0, .max])
  func everyTimeIsReadBack(_ nanoseconds: Int64) {
    let time = Timestamp(nanoseconds: nanoseconds)
    #expect(Timestamp(time.description) == time)
  }
}
