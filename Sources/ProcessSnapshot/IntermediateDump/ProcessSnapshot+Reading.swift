public import IntermediateDump

extension ProcessSnapshot {
  /// Reads everything that an intermediate dump tells, torn ones included.
  ///
  /// Never fails and never traps: what is missing stays nil or empty. Damage of the document is
  /// told in `capture`, it is not an error. Linear in the dump's size; the bytes of stacks and
  /// memory are copied out of the document once or twice.
  ///
  /// - Parameter document: a parsed dump; its root map is read by the schema of
  ///   `IntermediateDumpKey`.
  public init(reading document: IntermediateDumpDocument) {
    let root = document.root
    self.init(architecture: document.architecture == 2 ? .arm64 : .x86_64)
    capture.isComplete = true
    // One map is encoded when the handler is installed, a second one in the crash; the later one
    // knows better.
    for map in root.maps(.process) {
      process.overlay(map)
      reportID = map.data(.reportID).flatMap { ReportID(bytes: $0) } ?? reportID
    }
    for map in root.maps(.system) { system.overlay(map) }
    for map in root.maps(.capture) { capture.overlay(map) }
    survival = root.map(.survival).map { Survival(reading: $0) }
    request = root.map(.dumpRequest).map { DumpRequest(reading: $0) }
    end = root.map(.runEnd).map { RunEnd(reading: $0) }
    overlayRuntimes(root)
    for map in root.elements(.annotations) {
      guard let name = map.text(.annotationName), let value = map.text(.annotationValue),
        annotations[name] == nil
      else { continue }
      annotations[name] = value
    }
    readMappings(root)
    linkMap = root.map(.linkMap).map { LinkMap(reading: $0) }
    let crashing = crashingThread(root)
    readThreads(root, crashing)
    // What lies beside the stack is memory of the process too.
    let top = crashing?.elements(.stack).compactMap(\.region) ?? []
    let extra = root.elements(.memory).compactMap(\.region)
    let asked = root.elements(.extraMemory).compactMap(\.region)
    memory = MemorySnapshot(joining: threads.flatMap(\.stack) + top + extra + asked)
    client = ClientInformation(reading: root)
    spreadClientAnnotations()
    note(damageOf: document)
  }

  /// Reads only who it was, when it ended and by what: nothing that a number of the dump says where
  /// it is.
  package init(summarizing document: IntermediateDumpDocument) {
    let root = document.root
    self.init(architecture: document.architecture == 2 ? .arm64 : .x86_64)
    for map in root.maps(.process) { process.overlay(map) }
    request = root.map(.dumpRequest).map { DumpRequest(reading: $0) }
    end = root.map(.runEnd).map { RunEnd(reading: $0) }
    let (crash, thread) = (root.map(.exception), root.map(.crashingThread))
    guard thread != nil || crash?.entries.isEmpty == false else { return }
    exception = ExceptionSnapshot(
      reading: crash, threadID: crash?.unsigned32(.exceptionThreadID) ?? 0,
      architecture: architecture, generalRegisters: nil)
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

  /// The parts of the crashing thread, of which the first has the registers and the top of the stack.
  private func crashingThread(_ root: IntermediateDumpMap) -> IntermediateDumpMap? {
    let maps = root.maps(.crashingThread)
    let id = maps.first?.unsigned(.threadID)
    return IntermediateDumpMap(
      joining: maps.filter { map in
        map.unsigned(.threadID).map { $0 == id } ?? true
      })
  }

  private mutating func readThreads(
    _ root: IntermediateDumpMap, _ crashingMap: IntermediateDumpMap?
  ) {
    let exceptionMap = root.map(.exception)
    let exceptionThreadID = exceptionMap?.unsigned32(.exceptionThreadID)
    var seen: Set<UInt32> = []
    if let crashingMap {
      let id = crashingMap.unsigned32(.threadID) ?? exceptionThreadID
      let thread = ThreadSnapshot(reading: crashingMap, architecture: architecture, id: id)
      if let thread {
        threads.append(thread)
        seen.insert(thread.id)
      }
    }
    for map in root.elements(.threads) {
      guard let id = map.unsigned32(.threadID), seen.insert(id).inserted,
        let thread = ThreadSnapshot(reading: map, architecture: architecture, id: id)
      else { continue }
      threads.append(thread)
    }
    // A dump that was torn right behind the start of its exception says nothing of it.
    guard crashingMap != nil || exceptionMap?.entries.isEmpty == false else { return }
    let crashedID = exceptionThreadID ?? crashingMap?.unsigned32(.threadID) ?? 0
    if let index = threads.firstIndex(where: { $0.id == crashedID }), index > 0 {
      threads.insert(threads.remove(at: index), at: 0)
    } else if crashedID != 0, !threads.contains(where: { $0.id == crashedID }) {
      // Torn behind the exception: only the thread's ID is known. LLDB 19 crashes on a minidump
      // whose exception names a thread that is not in its list.
      threads.insert(ThreadSnapshot(id: crashedID), at: 0)
    }
    let generalRegisters = crashingMap?.data(.generalRegisters)
    var known = ExceptionSnapshot(
      reading: exceptionMap, threadID: crashedID, architecture: architecture,
      generalRegisters: generalRegisters)
    known.context = threads.first { $0.id == crashedID }?.context
    exception = known
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
