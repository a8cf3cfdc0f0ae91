import CrashAnalysis
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

private class Plain { var number = 7 }
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}
private struct Outer<First> {
  final class Inner<Second> { var pair: (First?, Second?)? = nil }
}
private class GenericBase<Element> { var element: Element? }
private final class GenericHeir<Other>: GenericBase<Int> { var other: Other? }
private struct Failure: Error { var code = 3 }

/// Each byte of a minidump changed, and objects whose bytes change while they are read.
@Suite struct DamagedBytesTests {
  /// Changes every third byte by each mask; the fuzzing target `minidump` makes all changes.
  @Test func everyByteChanged() throws {
    var bytes = try smallMinidump()
    var readable = 0
    for index in bytes.indices {
      let mask = [0xFF, 0x80, 0x01][index % 3] as UInt8
      bytes[index] ^= mask
      if (try? MinidumpReader.snapshot(of: bytes)) != nil { readable += 1 }
      bytes[index] ^= mask
    }
    // Only the signature, the version, the architecture and the fields that lead to it make a file unreadable: 16
    // bytes.
    #expect(readable >= bytes.count - 16)
  }

  @Test func damagedBytesGiveANameOrNoneAndNeverATrap() throws {
    let objects: [AnyObject] = [
      Plain(), Box([1: "one"]), Outer<Int>.Inner<String>(), GenericHeir<Double>(),
      Box((1, "two")), Box<any Error>(Failure()),
    ]
    let memory = try #require(FileHandle(forReadingAtPath: "/proc/self/mem"))
    var random = SystemRandomNumberGenerator()
    var named = 0
    for round in 0..<100_000 {
      // Each read returns the bytes unchanged, or with one byte changed.
      let read: ProcessReader.Bytes = { address, count in
        guard let place = off_t(exactly: address.value), count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let copied = unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe pread(memory.fileDescriptor, buffer.baseAddress, count, place)
        }
        guard copied == count else { return nil }
        if random.next() % 8 == 0 {
          bytes[Int(random.next() % UInt64(count))] = UInt8(truncatingIfNeeded: random.next())
        }
        return bytes[...]
      }
      let reader = ObjectReader(
        ProcessReader(memory: read, constants: read, reads: 4096), showsContents: true)
      let object = unsafe Unmanaged.passUnretained(objects[round % objects.count]).toOpaque()
      if reader.object(at: Address(UInt64(UInt(bitPattern: object)))) != nil { named += 1 }
    }
    // Most reads change nothing that matters.
    #expect(named > 0)
    withExtendedLifetime(objects) {}
  }
}
