internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A search for all tasks of Swift concurrency in the memory of a core file, including tasks that no thread was
/// running.
///
/// The runtime has no list of its tasks, but each task object begins with the same word, the address of the task
/// class's metadata. So this search reads the writable private memory in the core file. An object counts as a task only
/// if its fields are consistent (`TaskReader`).
struct CoreTaskSearch {
  /// The maximum number of bytes that are read.
  static let byteLimit: UInt64 = 1 << 30
  /// The time after which no further range is read.
  private static let timeLimit = Duration.seconds(10)
  /// The maximum number of addresses that are examined as possible task objects.
  private static let candidateLimit = 1 << 20
  /// The maximum numbers of groups, and of tasks in each group, that a report keeps.
  private static let (groupLimit, recordLimit) = (4096, 4096)

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  /// The tasks; nil if the process did not use Swift concurrency, its runtime has another memory layout, or the
  /// runtime's variables cannot be found or read.
  ///
  /// - Parameter byteLimit: the maximum number of bytes that are read.
  func tasks(byteLimit: UInt64 = Self.byteLimit) -> AllTasks? {
    let runtime = TaskRuntime(in: snapshot.modules, symbols) { snapshot.memory.word(at: $0) }
    guard let runtime else { return nil }
    var found = TaskCollection()
    let candidates = candidates(runtime, byteLimit: byteLimit, noting: &found)
    let reader = TaskReader(runtime, CoreMemory(snapshot: snapshot))
    for candidate in candidates {
      if let task = reader.task(at: candidate) { found.add(task) }
    }
    return AllTasks(found, limit: Self.groupLimit, recordLimit: Self.recordLimit)
  }

  /// The addresses of words that are equal to the first word of a task object.
  private func candidates(
    _ runtime: TaskRuntime, byteLimit: UInt64, noting found: inout TaskCollection
  ) -> [UInt64] {
    var candidates: [UInt64] = []
    let clock = ContinuousClock()
    let deadline = clock.now + Self.timeLimit
    for region in regions {
      let size = UInt64(region.count)
      let room = min(size, byteLimit - min(byteLimit, found.bytesSeen))
      guard room > 0, candidates.count < Self.candidateLimit, clock.now < deadline else {
        found.bytesUnseen = found.bytesUnseen.clampedAdding(size)
        continue
      }
      var place = region.address
      _ = region.contents.forEachSlice(of: 0..<Int(room)) { bytes in
        runtime.forEachCandidate(in: bytes, at: place.value) { address in
          if candidates.count < Self.candidateLimit { candidates.append(address) }
        }
        place = place &+ UInt64(bytes.count)
      }
      found.bytesSeen += room
      found.bytesUnseen = found.bytesUnseen.clampedAdding(size - room)
    }
    return candidates
  }

  /// The memory in which tasks may be: writable private memory that is neither a file nor a stack.
  ///
  /// Smaller ranges come first, because the number of bytes that are read is limited, and most heap ranges are small. A
  /// very large range is often one large table or buffer of the program.
  private var regions: [MemoryRegion] {
    let stacks = snapshot.threads.compactMap(\.stackRange)
    let ranges = snapshot.mappings.filter { mapping in
      mapping.protection.contains([.read, .write]) && mapping.isPrivate && mapping.inode == 0
        && !mapping.path.hasPrefix("/")
        && !stacks.contains { $0.start == mapping.start }
    }
    return ranges.flatMap { snapshot.memory.regions(in: $0.range) }
      .sorted { ($0.count, $0.address) < ($1.count, $1.address) }
  }
}

/// The memory of a core file, for the search for tasks.
private struct CoreMemory: TaskMemory {
  let snapshot: ProcessSnapshot

  func word(at address: UInt64) -> UInt64? { snapshot.memory.word(at: Address(address)) }

  func isCode(_ address: UInt64) -> Bool {
    snapshot.mapping(containing: Address(address))?.protection.contains(.execute) ?? false
  }
}
