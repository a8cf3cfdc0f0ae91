internal import CSignalSafe
internal import IntermediateDump
internal import PendingDumps

/// Reserves the pieces of memory that a capture needs, whether or not the process has crashed.
extension HandlerMemory {
  /// The number of bytes that the stack, tables and buffers of one capture need.
  ///
  /// Most of these bytes only take address space, because captures rarely fill the tables.
  static let captureSize = 14 << 20 + 8 * SignalFrame.size
  /// The size of a capture's stack, with room for signal frames, because the kernel places the frame of SIGSYS on the
  /// current stack.
  static let captureStackSize = SignalFrame.stackSize(128 << 10, frames: 4)
  static let scratchSize = 64 << 10
  /// The number of bytes from one futex word to the next.
  ///
  /// If two words were closer, stopped threads and the capturing thread would compete for one cache line.
  static let wordStride = 64

  mutating func threads(
    capacity: Int, countWord: FutexWord
  ) throws(CrashHandlerError) -> ThreadTable {
    let slotCount = ThreadTable.slotCount(capacity)
    return unsafe ThreadTable(
      base: try pages(capacity * ThreadTable.stride),
      slots: try pages(slotCount * 4).bindMemory(to: UInt32.self, capacity: slotCount),
      capacity: capacity, countWord: countWord)
  }

  /// Reserves the table `Shared.waiting`, for threads that wait to capture their crashes, or the table
  /// `Shared.dumpingThreads`, for threads that take dumps without a crash.
  mutating func threadEntries(capacity: Int) throws(CrashHandlerError) -> ThreadEntries {
    unsafe ThreadEntries(
      base: try pages(ThreadEntries.byteCount(capacity: capacity)), capacity: capacity)
  }

  /// Reserves a table of 69,632 mappings, 8 MiB for their text, and a table of images.
  mutating func mappings() throws(CrashHandlerError) -> MappingTable {
    let (textCapacity, capacity) = (8 << 20, 65536 + MappingTable.spare)
    let text = unsafe try pages(textCapacity)
    let entries = unsafe try pages(capacity * MappingTable.stride)
    // `hold` makes the kernel allocate the first part of each in advance, which is enough for a thousand mappings.
    unsafe hold(text, 96 << 10)
    unsafe hold(entries, 24 << 10)
    return unsafe MappingTable(
      text: text, textCapacity: textCapacity, entries: entries, capacity: capacity,
      counts: try piece(3 * MemoryLayout<Int>.stride).bindMemory(to: Int.self, capacity: 3),
      images: ImageTable(base: try pages(ImageTable.byteCount)))
  }

  mutating func recoveryPoints() throws(CrashHandlerError) -> RecoveryPoints {
    unsafe RecoveryPoints(
      points: try piece(3 * MemoryLayout<pm_recovery_point>.stride)
        .bindMemory(to: pm_recovery_point.self, capacity: 3))
  }

  /// Creates a writer with a buffer of 256 KiB.
  ///
  /// - Parameter asksFile: false if the writer must not read the offset of the dump's file.
  mutating func writer(
    to descriptor: Int32, limits: CaptureLimits, asksFile: Bool
  ) throws(CrashHandlerError) -> UnsafeMutablePointer<IntermediateDumpWriter> {
    let size = 256 << 10
    let buffer = unsafe try pages(size)
    unsafe hold(buffer, 64 << 10)
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: size, descriptor: descriptor,
      byteLimit: UInt64(max(limits.dump, 0)))
    writer.asksFile = asksFile
    return unsafe try place(writer)
  }

  private mutating func place(
    _ writer: consuming IntermediateDumpWriter
  ) throws(CrashHandlerError) -> UnsafeMutablePointer<IntermediateDumpWriter> {
    let place = unsafe try piece(MemoryLayout<IntermediateDumpWriter>.size)
      .bindMemory(to: IntermediateDumpWriter.self, capacity: 1)
    unsafe place.initialize(to: writer)
    return unsafe place
  }

  /// Reserves a copy of a text's bytes; returns an empty range for nil.
  mutating func ownBytes(_ text: String?) throws(CrashHandlerError) -> Bytes {
    let utf8 = Array((text ?? "").utf8)
    return unsafe Bytes(try bytes(utf8), count: utf8.count)
  }

  /// Reserves memory for the names of a dump, its FIFO and its run record.
  ///
  /// - Parameter areNew: true if the dump gets a report ID other than the one that was encoded at launch; the bytes of
  ///   the ID then stay 0 for now.
  mutating func names(
    of locked: PendingDumpName, areNew: Bool = false
  ) throws(CrashHandlerError) -> DumpNames {
    let finished = locked.with(role: .finished).description
    let reportID = unsafe try piece(16)
    if !areNew { unsafe reportID.copyMemory(from: locked.reportID.bytes, byteCount: 16) }
    return unsafe DumpNames(
      locked: try text(locked.description), finished: try text(finished),
      runRecord: try text(locked.with(role: .runRecord).description),
      fifo: try text(locked.with(role: .fifo).description),
      reportIDOffset: finished.utf8.count - DumpNames.reportIDLength, reportID: reportID,
      areNew: areNew)
  }

  /// Reserves a copy of encoded tokens; returns an empty range for nil, which means that the tokens could not be
  /// encoded.
  mutating func tokens(_ tokens: [UInt8]?) throws(CrashHandlerError) -> Bytes {
    unsafe Bytes(try bytes(tokens ?? []), count: tokens?.count ?? 0)
  }

  /// Reserves separate memory for a session, for a dump of a process that has not crashed.
  mutating func session(
    beside handlers: Capture, names: DumpNames, files: SessionFiles, threads: ThreadTable
  ) throws(CrashHandlerError) -> Capture {
    unsafe try session(
      handlers.session.installed, handlers.session.shared, names: names, files: files,
      threads: threads, limits: handlers.installed.limits,
      asksFile: handlers.writer.asksFile)
  }

  /// Reserves memory for a session that uses the handler's own stack, tables and buffer.
  ///
  /// Only the capturing thread may use this session (`Shared.capturingThread`).
  mutating func session(
    sharing handlers: Capture, names: DumpNames
  ) throws(CrashHandlerError) -> Capture {
    let session = unsafe try piece(MemoryLayout<Session>.size)
      .bindMemory(to: Session.self, capacity: 1)
    unsafe session.initialize(
      to: try Session(
        installed: handlers.session.installed, shared: handlers.session.shared, names: names,
        files: SessionFiles(
          dump: HeldFile(), directory: handlers.session.files.directory, fifo: HeldFile(),
          proc: handlers.session.files.proc),
        writerPlace: place(handlers.writer.sharingBuffer()),
        stackTop: handlers.session.stackTop,
        recoveryPoints: recoveryPoints(), threads: handlers.session.threads,
        mappings: handlers.session.mappings, scratch: handlers.session.scratch,
        pages: handlers.session.pages, resident: handlers.session.resident))
    return unsafe Capture(session)
  }

  /// Reserves a session, and a stack, a table of mappings, scratch memory and buffers for it.
  ///
  /// - Parameter asksFile: false if the writer must not read the offset of the dump's file.
  mutating func session(
    _ installed: UnsafeMutablePointer<Installed>, _ shared: UnsafeMutablePointer<Shared>,
    names: DumpNames, files: SessionFiles, threads: ThreadTable, limits: CaptureLimits,
    asksFile: Bool
  ) throws(CrashHandlerError) -> Capture {
    let session = unsafe try piece(MemoryLayout<Session>.size)
      .bindMemory(to: Session.self, capacity: 1)
    let stackTop = unsafe try stack(Self.captureStackSize) + Self.captureStackSize
    let scratch = unsafe try pages(Self.scratchSize)
    let cache = unsafe try pages(PageCache.byteCount)
    unsafe hold(stackTop - (32 << 10), 32 << 10)
    unsafe hold(scratch, 16 << 10)
    unsafe hold(cache, PageCache.byteCount)
    unsafe session.initialize(
      to: try Session(
        installed: installed, shared: shared, names: names, files: files,
        writerPlace: writer(to: files.dump.descriptor, limits: limits, asksFile: asksFile),
        stackTop: stackTop,
        recoveryPoints: recoveryPoints(), threads: threads, mappings: mappings(),
        scratch: Scratch(scratch, size: Self.scratchSize), pages: PageCache(base: cache),
        resident: ResidentPages(
          memory: Scratch(piece(ResidentPages.byteCount), size: ResidentPages.byteCount),
          pageSize: pageSize)))
    return unsafe Capture(session)
  }
}

extension ThreadTable {
  /// - Parameters:
  ///   - slots: `slotCount(capacity)` words that are 0 at first; a used slot holds the number of a record, beginning
  ///     with 1.
  ///   - countWord: the word that counts the records; 0 at first.
  init(
    base: UnsafeMutableRawPointer, slots: UnsafeMutablePointer<UInt32>, capacity: Int,
    countWord: FutexWord
  ) {
    unsafe self.base = base
    unsafe self.slots = slots
    slotMask = ThreadTable.slotCount(capacity) &- 1
    self.capacity = capacity
    self.countWord = countWord
  }

  /// The number of slots of the hash table of threads: a power of two, so large that at most half of the slots are
  /// used.
  static func slotCount(_ capacity: Int) -> Int {
    var count = 2
    while count < 2 &* capacity { count &*= 2 }
    return count
  }
}
