internal import IntermediateDump
internal import ProcessSnapshot

/// Finds the program's arguments, which the kernel put on the stack of the main thread.
///
/// Source: System V ABI AMD64 supplement, 3.4.1 (initial process stack); Linux fs/binfmt_elf.c,
/// create_elf_tables().
struct CommandLineFinder {
  /// The maximum number of bytes that a search examines.
  ///
  /// With the usual stack limit of 8 MiB, the kernel accepts at most 2 MiB of arguments and environment strings
  /// (execve(2)).
  private static let reach: UInt64 = 2 << 20
  private static let maximumCount: UInt64 = 1 << 16
  private static let maximumSize = 4096

  let process: CoreProcess
  let memory: MemorySnapshot

  /// The first 4 KiB of the program's arguments, each ended by NUL; nil if they are not found.
  var bytes: [UInt8]? {
    guard let arguments = argumentPointers, let first = memory.word(at: arguments.start),
      let last = memory.word(at: arguments.start &+ (arguments.byteCount &- 8)),
      let text = memory.text(at: Address(last), limit: Self.maximumSize), first <= last
    else { return nil }
    let size = (last &- first).clampedAdding(UInt64(text.utf8.count)).clampedAdding(1)
    return memory.bytes(at: Address(first), count: Int(min(size, UInt64(Self.maximumSize))))
      .map(Array.init)
  }

  /// The address range of the pointers in `argv`, without the null pointer at the end; nil if it is not found.
  private var argumentPointers: AddressRange? {
    guard let vector = vectorOnStack else { return nil }
    // Downward from the auxiliary vector, the stack holds a null pointer, the environment's pointers, another null
    // pointer, the argument pointers and the argument count.
    guard var place = vector.subtracting(8), memory.word(at: place) == 0 else { return nil }
    var nulls = 0
    var count: UInt64 = 0
    while let below = place.subtracting(8), let word = memory.word(at: below) {
      place = below
      if nulls == 1, word == count, count > 0, count < Self.maximumCount {
        return AddressRange(start: place &+ 8, byteCount: count &* 8)
      }
      guard vector.wrappedDistance(above: place) < Self.reach else { return nil }
      if word == 0 {
        nulls += 1
        count = 0
        guard nulls < 2 else { return nil }
      } else {
        count += 1
      }
    }
    return nil
  }

  /// The address of the auxiliary vector, found by a search below the bytes that AT_RANDOM points to.
  private var vectorOnStack: Address? {
    let vector = process.auxiliaryVector
    guard let random = process.auxiliaryValue(25), vector.count >= 32 else { return nil }
    let (first, second) = (
      vector.littleEndian(at: 0, as: UInt64.self), vector.littleEndian(at: 8, as: UInt64.self)
    )
    var place = Address(random).alignedDown(to: 8)
    let lowest = place.clampedSubtracting(Self.reach)
    while let below = place.subtracting(8), below >= lowest, let word = memory.word(at: below) {
      place = below
      if word == first, memory.word(at: place &+ 8) == second,
        memory.bytes(at: place, count: 32).map(Array.init) == Array(vector.prefix(32))
      {
        return place
      }
    }
    return nil
  }
}
