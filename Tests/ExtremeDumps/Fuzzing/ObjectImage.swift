internal import CrashAnalysis
internal import CrashReport
internal import Foundation
internal import IntermediateDump
internal import ProcessSnapshot

/// The memory of objects and their types as an input: blocks of an address and 32 bytes, the object's block
/// first.
enum ObjectImage {
  private static let blockSize = 32

  /// Names the objects at the first eight blocks; returns the total size of the names in bytes.
  static func read(_ input: [UInt8]) -> Int {
    let starts = stride(from: 0, to: input.count - blockSize - 7, by: blockSize + 8)
    let blocks = starts.map { start in
      MemoryRegion(
        address: Address(input.littleEndian(at: start, width: 8) ?? 0),
        bytes: Array(input[start + 8..<start + 8 + blockSize]))
    }
    let memory = MemorySnapshot(joining: blocks)
    let reader = ObjectReader(
      ProcessReader(
        memory: { memory.bytes(at: $0, count: $1) }, constants: { _, _ in nil }, reads: 4096),
      showsContents: true)
    return blocks.prefix(8).reduce(0) { size, block in
      size + (reader.object(at: block.address)?.words.utf8.count ?? 0)
    }
  }

  // MARK: - Inputs

  private class Plain { var number = 7 }
  private final class Box<Value> { var value: Value? }
  private enum Outer<First> {
    final class Inner<Second> {}
    case left(First)
  }
  private final class Fixed<let count: Int, each Value> {}
  private struct Failure: Error { var code = 3 }

  /// Images of this process's own objects, one for each object.
  static func own() throws -> [[UInt8]] {
    let failure: any Error = Failure()
    let text = String(repeating: "text ", count: 9) + "\(getpid())"
    let objects: [AnyObject] = [
      Plain(), Box<[Int: String]>(), Outer<Int>.Inner<String>(), Box<(a: Int, b: Plain)>(),
      Box<any Error>(), Box<@Sendable (inout Int) async throws -> Void>(), Fixed<3, Int, String>(),
      Box<Outer<Plain>.Type>(), Box<any Sequence<Int>>(), NSMutableArray(),
    ]
    var words = objects.map {
      UInt64(UInt(bitPattern: unsafe Unmanaged.passUnretained($0).toOpaque()))
    }
    words.append(unsafe unsafeBitCast(failure, to: UInt64.self))
    words.append(unsafe unsafeBitCast([1, 2, 3, getpid()], to: UInt64.self))
    words.append(
      unsafe unsafeBitCast(text, to: (UInt64, UInt64).self).1 & 0x0FFF_FFFF_FFFF_FFFF)
    let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
    defer { withExtendedLifetime((objects, failure, text)) {} }
    return words.map { image(of: Address($0), memory) }
  }

  /// The blocks that the reader reads to name an object.
  private static func image(of object: Address, _ memory: FileHandle) -> [UInt8] {
    var blocks: [Address] = []
    func bytes(_ address: Address, _ count: Int) -> ArraySlice<UInt8>? {
      guard count > 0, (try? memory.seek(toOffset: address.value)) != nil,
        let data = try? memory.read(upToCount: count), data.count == count
      else { return nil }
      return Array(data)[...]
    }
    func noted(_ address: Address, _ count: Int) -> ArraySlice<UInt8>? {
      guard let found = bytes(address, count) else { return nil }
      var block = Address(address.value & ~UInt64(blockSize - 1))
      while block < address &+ UInt64(count) {
        if !blocks.contains(block) { blocks.append(block) }
        block = block &+ UInt64(blockSize)
      }
      return found
    }
    let reader = ObjectReader(
      ProcessReader(memory: noted, constants: noted), showsContents: true)
    _ = reader.object(at: object)
    // Objects are aligned to 16 bytes, blocks to 32.
    let start = blocks.first.map { _ in [object] } ?? []
    return (start + blocks).flatMap { block in
      ExtremeBytes.word(block.value) + (bytes(block, blockSize) ?? [])
    }
  }
}
