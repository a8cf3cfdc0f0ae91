import CrashTestSupport
import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// Finds the throw of the error that ended the process among the recorded throws.
@Suite struct ThrowSnapshotTests {
  private static let stack = SyntheticProcess.stack

  /// A process with these words on the crashing thread's stack.
  private func process(_ words: [UInt64], _ records: [ThrowSnapshot]) -> ProcessSnapshot {
    var snapshot = SyntheticProcess.snapshot()
    let bytes = words.flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    let region = MemoryRegion(address: Self.stack, bytes: bytes)
    snapshot.threads[0].stack = [region]
    snapshot.memory = MemorySnapshot(joining: [region])
    snapshot.recordedThrows = records
    return snapshot
  }

  /// - Parameter thread: the ID of the thread; 4001 crashes.
  private func record(_ thread: UInt32, at uptime: UInt64, error: Address? = nil) -> ThrowSnapshot {
    ThrowSnapshot(
      threadID: thread, uptime: uptime, error: error,
      addresses: [SyntheticProcess.executable &+ uptime])
  }

  @Test func theErrorOnTheStackIsTheOne() {
    #expect(SyntheticProcess.snapshot().crashedThread?.id == 4001)
    let records = [
      record(4001, at: 9, error: 0x10_0010), record(4002, at: 5, error: 0x10_0020),
      // Another thread threw the same error first.
      record(4003, at: 4, error: 0x10_0020),
    ]
    #expect(process([1, 0x10_0020], records).lastThrow == records[2])
    #expect(process([1, 2], records).lastThrow == records[0])
    #expect(process([1, 2], Array(records.dropFirst())).lastThrow == nil)
    #expect(process([1, 2], []).lastThrow == nil)
    // The newest record is found in any order.
    #expect(process([0x10_0010, 0x10_0020], records.reversed()).lastThrow == records[0])
  }

  @Test func aRegisterCountsToo() {
    var snapshot = process([], [record(4002, at: 5, error: 0x10_0020)])
    #expect(snapshot.lastThrow == nil)
    var context = X86_64Context()
    context.r12 = 0x10_0020
    snapshot.exception?.context = .x86_64(context)
    #expect(snapshot.lastThrow?.uptime == 5)
  }

  @Test func aPrivateReportHasItsCodeOnly() {
    var other = record(4002, at: 5, error: 0x10_0020)
    other.addresses.append(0x1234_5678_9ABC)
    var snapshot = process([0x10_0020], [record(4001, at: 9), other])
    snapshot.sanitize()
    #expect(snapshot.recordedThrows.count == 1)
    #expect(snapshot.recordedThrows[0].error == nil)
    #expect(
      snapshot.recordedThrows[0].addresses
        == [SyntheticProcess.executable &+ 5, Address(IntermediateDumpFormat.replacedWord)])
  }
}
