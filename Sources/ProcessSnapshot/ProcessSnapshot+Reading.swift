public import IntermediateDump

extension ProcessSnapshot {
  /// Reads everything in an intermediate dump, even in a truncated one.
  ///
  /// Reading never fails and never traps. A part that is missing from the dump stays nil or empty. Damage to the
  /// document is not an error; `capture` records it. Reading takes linear time in the size of the dump. The bytes of
  /// stacks and memory are not copied until they are used.
  ///
  /// - Parameter document: a parsed dump, whose root map follows the schema of `IntermediateDumpKey`.
  public init(reading document: IntermediateDumpDocument) {
    self.init(reading: document, memory: nil)
  }

  /// - Parameter memory: the process's memory, for a document that contains only the addresses of memory; nil for a
  ///   document that also contains the bytes.
  package init(reading document: IntermediateDumpDocument, memory known: MemorySnapshot?) {
    let root = document.root
    self.init(architecture: document.architecture == 2 ? .arm64 : .x86_64)
    capture.isComplete = true
    // Values that were recorded at the crash come later in the dump, so they replace values recorded at launch.
    Self.mapFields.read(root, into: &self)
    system.processorModel = system.processorModel ?? system.processorText.flatMap(ProcessorName.of)
    readMappings(root)
    let crashing = crashingThread(root)
    var pieces = DumpMemory(known)
    readThreads(root, crashing, &pieces)
    // `memory` contains the stacks and the other memory that the dump has.
    memory =
      known
      ?? MemorySnapshot(
        joining: threads.flatMap(\.stack)
          + ((crashing?.elements(.stack) ?? []) + root.elements(.memory)
          + root.elements(.extraMemory)).compactMap { pieces.region($0) })
    spreadClientAnnotations()
    timeBreadcrumbs()
    note(damageOf: document)
    // Every crash dump of the handler has `bytesOmitted` near the end of the capture map. If a dump lacks this count,
    // its capture section ended early.
    if known == nil, capture.isComplete, root.map(.exception) != nil, capture.bytesOmitted == nil {
      capture.sectionsAbandoned = (capture.sectionsAbandoned ?? 0) | DumpSection.capture.bit
    }
  }

  /// Reads only the identity of the process, and the time and cause of its end.
  package init(summarizing document: IntermediateDumpDocument) {
    let root = document.root
    self.init(architecture: document.architecture == 2 ? .arm64 : .x86_64)
    for field in Self.beforeThreads { _ = field.read(root, &self) }
    let (crash, thread) = (root.map(.exception), root.map(.crashingThread))
    guard thread != nil || crash?.entries.isEmpty == false else { return }
    exception = ExceptionSnapshot(
      reading: crash, threadID: 0, architecture: architecture, generalRegisters: nil)
  }

  private mutating func readMappings(_ root: IntermediateDumpMap) {
    let chunks = root.elements(.mappings).compactMap { $0.data(.mappingsText) }
    if !chunks.isEmpty {
      let text = Array(chunks.joined())
      mappings = MemoryMapping.mappings(parsing: text[...])
      process.mapsText = text
    }
    modules = ModuleDerivation(mappings: mappings, pageSize: system.pageSize)
      .modules(of: root.elements(.modules))
  }

  /// Joins the maps in which the handler wrote the crashing thread; the first has the registers and the top of the
  /// stack.
  private func crashingThread(_ root: IntermediateDumpMap) -> IntermediateDumpMap? {
    let maps = root.maps(.crashingThread)
    let id = maps.first?.unsigned(.threadID)
    return IntermediateDumpMap(
      joining: maps.filter { map in
        map.unsigned(.threadID).map { $0 == id } ?? true
      })
  }

  private mutating func readThreads(
    _ root: IntermediateDumpMap, _ crashingMap: IntermediateDumpMap?, _ memory: inout DumpMemory
  ) {
    // In a log, each message of the exception is in a separate map.
    let exceptionMap = IntermediateDumpMap(joining: root.maps(.exception))
    let exceptionThreadID: UInt32? = exceptionMap?[.exceptionThreadID]
    var seen: Set<UInt32> = []
    func append(_ map: IntermediateDumpMap, _ id: UInt32?) {
      guard let id, seen.insert(id).inserted else { return }
      threads.append(
        ThreadSnapshot(reading: map, id: id, architecture: architecture, memory: &memory))
    }
    if let crashingMap { append(crashingMap, crashingMap[.threadID] ?? exceptionThreadID) }
    for map in root.elements(.threads) { append(map, map[.threadID]) }
    separateStacks()
    // A dump that was truncated right after the start of its exception contains nothing about the exception, so
    // `exception` stays nil.
    guard crashingMap != nil || exceptionMap?.entries.isEmpty == false else { return }
    let crashedID = exceptionThreadID ?? crashingMap?[.threadID] ?? 0
    if let index = threads.firstIndex(where: { $0.id == crashedID }), index > 0 {
      threads.insert(threads.remove(at: index), at: 0)
    } else if crashedID != 0, !threads.contains(where: { $0.id == crashedID }) {
      // The dump was truncated after the exception, so only the ID of the crashed thread is known. A thread with only
      // this ID is added, because LLDB 19 crashes on a minidump whose exception names a thread that is not in the
      // thread list.
      threads.insert(ThreadSnapshot(id: crashedID), at: 0)
    }
    let generalRegisters = crashingMap?.data(.generalRegisters)
    var known = ExceptionSnapshot(
      reading: exceptionMap, threadID: crashedID, architecture: architecture,
      generalRegisters: generalRegisters)
    known.context = threads.first { $0.id == crashedID }?.context
    exception = known
  }

  /// Separates stacks that share a mapping with their neighbors.
  ///
  /// Since glibc 2.42, the guards between the stacks (MADV_GUARD_INSTALL) do not split the mapping.
  ///
  /// The C library places the control block of a thread that it creates at the upper end of the thread's stack. So the
  /// next higher stack is assumed to begin right after the block's page. On arm64, static thread-local variables are
  /// above the block. If they do not fit on its page, the next stack's range also contains the rest of these variables.
  private mutating func separateStacks() {
    let tops = threads.compactMap { $0.threadPointer?.alignedDown(to: 4096).adding(4096) }.sorted()
    for index in threads.indices {
      guard let stack = threads[index].stackRange,
        let stackPointer = threads[index].stackPointer
      else { continue }
      let above = tops.partitioningIndex { $0 > stackPointer }
      guard above > 0, stack.contains(tops[above - 1]) else { continue }
      threads[index].stackRange = AddressRange(from: tops[above - 1], to: stack.clampedEnd)
    }
  }

  /// Sorts the breadcrumbs of the crashed thread's work by time, and computes the wall-clock time of breadcrumbs that
  /// lack one.
  ///
  /// The handler writes only the uptime of a breadcrumb. The wall-clock time follows from this uptime, and from the
  /// uptime and the wall-clock time of the crash.
  private mutating func timeBreadcrumbs() {
    client.workBreadcrumbs.sort { ($0.uptime ?? 0) < ($1.uptime ?? 0) }
    guard let time = process.crashTime, let uptime = process.crashUptime else { return }
    func place(_ breadcrumb: inout ClientInformation.Breadcrumb) {
      guard breadcrumb.time == nil, let then = breadcrumb.uptime else { return }
      breadcrumb.time = time &- Int64(bitPattern: uptime &- then)
    }
    for index in client.breadcrumbs.indices { place(&client.breadcrumbs[index]) }
    for index in client.workBreadcrumbs.indices { place(&client.workBreadcrumbs[index]) }
  }

  private mutating func note(damageOf document: IntermediateDumpDocument) {
    if let damage = document.damage {
      capture.isComplete = false
      capture.damage = damage.description
    } else if ![1, 2].contains(document.architecture) {
      capture.isComplete = false
      capture.damage = "unknown architecture \(document.architecture) in the dump's header"
    }
  }
}

extension ExceptionSnapshot {
  /// Reads an `exception` map, which may be missing from a truncated dump.
  fileprivate init(
    reading map: IntermediateDumpMap?, threadID: UInt32,
    architecture: ProcessSnapshot.Architecture, generalRegisters: ArraySlice<UInt8>?
  ) {
    self.init(threadID: threadID)
    if let map { Self.mapFields.read(map, into: &self) }
    guard architecture == .x86_64, Self.isFault(signal: signal, code: code),
      let generalRegisters, generalRegisters.count >= 23 * 8
    else { return }
    let (trap, error) = (X86_64Context.trapNumberIndex, X86_64Context.errorCodeIndex)
    trapNumber = trapNumber ?? generalRegisters.littleEndian(at: trap * 8, width: 8)
    trapErrorCode = trapErrorCode ?? generalRegisters.littleEndian(at: error * 8, width: 8)
  }
}
