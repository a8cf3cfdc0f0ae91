internal import CSignalSafe

/// The memory of client data: annotations, breadcrumbs of the process, attachments and memory ranges.
///
/// Breadcrumbs of units of work are in `WorkRings`. Contexts are in the memory of their tasks or threads, and in the
/// table of `pm_open_contexts.h`.
///
/// This is one block of static memory, which initially contains only zeros. It needs no initialization, so the
/// program can use it before `startHandler`. After fork(2), the child has its own copy of this memory.
///
/// RUNS-DURING-CRASH.
@safe
struct ClientMemory {
  /// The offset of the tables in this memory.
  ///
  /// Other words precede the tables: four counts of left-out entries at 0, 4, 8 and 12, the annotation list's head at
  /// 16 and its size in use at 20, and the next breadcrumb's number at 24.
  private static var tablesOffset: Int { 64 }
  /// The maximum number of bytes of a simple annotation's key and value together.
  ///
  /// Source: Crashpad `client/simple_string_dictionary.h`.
  fileprivate static var simpleCapacity: Int { 510 }
  static var rangeCapacity: Int { @_noLocks get { 16 } }
  static var pathCapacity: Int { @_noLocks get { 1024 } }
  private static var tableCount: Int { 64 }
  private static var attachmentCount: Int { 16 }

  let base: UnsafeMutableRawPointer
  let byteCount: Int

  /// The client memory of the calling process.
  static var ofProcess: ClientMemory {
    @_noLocks get {
      unsafe ClientMemory(pm_client_memory(), byteCount: Int(PM_CLIENT_MEMORY_SIZE))
    }
  }

  /// - Parameter base: memory that contains only zeros; its address is a multiple of 8.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer, byteCount: Int) {
    unsafe self.base = base
    self.byteCount = byteCount
  }

  @_noLocks
  func word(_ offset: Int) -> FutexWord {
    unsafe FutexWord((base + offset).assumingMemoryBound(to: UInt32.self))
  }

  var simpleAnnotations: CellTable {
    @_noLocks get {
      unsafe CellTable(
        base + ClientMemory.tablesOffset, count: ClientMemory.tableCount,
        capacity: ClientMemory.simpleCapacity, omitted: word(0))
    }
  }

  /// The registered memory ranges; a key is the address and the size, 8 bytes each.
  var memoryRanges: CellTable {
    @_noLocks get {
      unsafe CellTable(
        base + rangesOffset, count: ClientMemory.tableCount,
        capacity: ClientMemory.rangeCapacity, omitted: word(4))
    }
  }

  /// The attachments; a key is a path.
  var attachments: CellTable {
    @_noLocks get {
      unsafe CellTable(
        base + attachmentsOffset, count: ClientMemory.attachmentCount,
        capacity: ClientMemory.pathCapacity, omitted: word(8))
    }
  }

  var breadcrumbs: BreadcrumbRing {
    @_noLocks get {
      unsafe BreadcrumbRing(
        base + breadcrumbsOffset, count: BreadcrumbRing.processCount,
        next: (base + 24).assumingMemoryBound(to: UInt64.self))
    }
  }

  private var rangesOffset: Int {
    ClientMemory.tablesOffset
      &+ CellTable.byteCount(
        count: ClientMemory.tableCount, capacity: ClientMemory.simpleCapacity)
  }

  private var attachmentsOffset: Int {
    rangesOffset
      &+ CellTable.byteCount(
        count: ClientMemory.tableCount, capacity: ClientMemory.rangeCapacity)
  }

  private var breadcrumbsOffset: Int {
    attachmentsOffset
      &+ CellTable.byteCount(
        count: ClientMemory.attachmentCount, capacity: ClientMemory.pathCapacity)
  }

  /// The offset of the annotation list in the client memory, in bytes.
  var listOffset: Int { @_noLocks get { breadcrumbsOffset &+ BreadcrumbRing.byteCount } }
}
