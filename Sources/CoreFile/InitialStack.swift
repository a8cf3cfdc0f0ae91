internal import IntermediateDump
internal import ProcessSnapshot

/// The arguments, the environment and the auxiliary vector, which the kernel put at the top of the main thread's stack.
///
/// Source: System V ABI AMD64 supplement, 3.4.1 (initial process stack); Linux fs/binfmt_elf.c,
/// create_elf_tables().
struct InitialStack {
  /// The maximum number of bytes that a search examines.
  ///
  /// With the usual stack limit of 8 MiB, the kernel accepts at most 2 MiB of arguments and environment strings
  /// (execve(2)).
  private static let reach: UInt64 = 2 << 20
  private static let maximumCount: UInt64 = 1 << 16
  private static let maximumSize = 4096

  private let memory: MemorySnapshot
  private let argumentPointers: AddressRange?
  /// The addresses that the handler never reads (`EnvironmentRange`): from the argument count to the end of the mapping
  /// of the stack; nil if the core file has no auxiliary vector, or does not contain that part of the stack.
  ///
  /// If the argument count is not found, the range starts at the bytes that AT_RANDOM points to. The strings of the
  /// arguments and of the environment are above these bytes.
  let range: AddressRange?

  init(of process: CoreProcess, _ image: CoreImage, in memory: MemorySnapshot) {
    self.memory = memory
    argumentPointers = Self.argumentPointers(process, memory)
    let start =
      argumentPointers.map { $0.start &- 8 } ?? process.auxiliaryValue(25).map { Address($0) }
    range = start.flatMap { start in
      image.segments.first { $0.range.contains(start) }.map {
        AddressRange(from: start, to: $0.range.clampedEnd)
      }
    }
  }

  /// The first 4 KiB of the program's arguments, each ended by NUL; nil if they are not found.
  var arguments: [UInt8]? {
    guard let arguments = argumentPointers, let first = memory.word(at: arguments.start),
      let last = memory.word(at: arguments.start &+ (arguments.byteCount &- 8)),
      let text = memory.text(at: Address(last), limit: Self.maximumSize), first <= last
    else { return nil }
    let size = (last &- first).clampedAdding(UInt64(text.utf8.count)).clampedAdding(1)
    return memory.bytes(at: Address(first), count: Int(min(size, UInt64(Self.maximumSize))))
      .map(Array.init)
  }

  /// The value of an environment variable; nil if it is not set, or if the environment is not found.
  func environment(_ name: String) -> String? {
    // A null pointer ends the arguments' pointers.
    guard var place = argumentPointers?.clampedEnd.adding(8) else { return nil }
    for _ in 0..<Self.maximumCount {
      guard let pointer = memory.word(at: place), pointer != 0, let next = place.adding(8) else {
        return nil
      }
      place = next
      if let text = memory.text(at: Address(pointer), limit: Self.maximumSize),
        text.hasPrefix(name + "=")
      {
        return String(text.dropFirst(name.count + 1))
      }
    }
    return nil
  }

  /// The address range of the pointers in `argv`, without the null pointer at the end; nil if it is not found.
  private static func argumentPointers(
    _ process: CoreProcess, _ memory: MemorySnapshot
  ) -> AddressRange? {
    guard let vector = vectorOnStack(process, memory) else { return nil }
    // Downward from the auxiliary vector, the stack holds a null pointer, the environment's pointers, another null
    // pointer, the argument pointers and the argument count.
    guard var place = vector.subtracting(8), memory.word(at: place) == 0 else { return nil }
    var nulls = 0
    var count: UInt64 = 0
    while let below = place.subtracting(8), let word = memory.word(at: below) {
      place = below
      if nulls == 1, word == count, count > 0, count < maximumCount {
        return AddressRange(start: place &+ 8, byteCount: count &* 8)
      }
      guard vector.wrappedDistance(above: place) < reach else { return nil }
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
  private static func vectorOnStack(
    _ process: CoreProcess, _ memory: MemorySnapshot
  ) -> Address? {
    let vector = process.auxiliaryVector
    guard let random = process.auxiliaryValue(25), vector.count >= 32 else { return nil }
    let (first, second) = (
      vector.littleEndian(at: 0, as: UInt64.self), vector.littleEndian(at: 8, as: UInt64.self)
    )
    var place = Address(random).alignedDown(to: 8)
    let lowest = place.clampedSubtracting(reach)
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
