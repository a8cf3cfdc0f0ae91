public import IntermediateDump

extension ProcessSnapshot {
  /// Adds what `extensionDocument()` encoded to a snapshot read from a minidump's standard streams.
  ///
  /// Call it when threads, modules and memory are there. Values of the document replace those of
  /// the streams, which are rounded or shortened; what it lacks stays. A document that is damaged
  /// itself only adds.
  ///
  /// - Parameter document: the parsed document; any intermediate dump does no harm.
  public mutating func applyExtension(_ document: IntermediateDumpDocument) {
    let root = document.root
    for map in root.maps(.process) {
      process.overlay(map)
      reportID = map.data(.reportID).flatMap { ReportID(bytes: $0) } ?? reportID
      dumpDigest = map.unsigned(.dumpDigest) ?? dumpDigest
    }
    for map in root.maps(.system) { system.overlay(map) }
    for map in root.maps(.capture) { capture.overlay(map) }
    survival = root.map(.survival).map { Survival(reading: $0) } ?? survival
    request = root.map(.dumpRequest).map { DumpRequest(reading: $0) } ?? request
    overlayRuntimes(root)
    client = ClientInformation(reading: root)
    end = root.map(.runEnd).map { RunEnd(reading: $0) } ?? end
    if let map = root.map(.exception) { apply(exception: map, isWhole: document.isComplete) }
    apply(threads: root.elements(.threads), isWhole: document.isComplete)
    let deleted = Set(
      root.elements(.modules).compactMap { map -> Address? in
        guard let path = map.text(.modulePath), ModuleSnapshot.path(withoutMark: path).isDeleted
        else { return nil }
        return map.address(.moduleAddress)
      })
    for index in modules.indices where deleted.contains(modules[index].address) {
      modules[index].isDeleted = true
    }
    if let map = root.map(.linkMap), var known = linkMap {
      known.overlay(map)
      linkMap = known
    }
    for map in root.elements(.annotations) {
      guard let name = map.text(.annotationName) else { continue }
      annotations[name] = map.text(.annotationValue) ?? annotations[name]
    }
    if var known = exception, let thread = threads.first(where: { $0.id == known.threadID }) {
      known.context = thread.context ?? known.context
      exception = known
    }
  }

  private mutating func apply(exception map: IntermediateDumpMap, isWhole: Bool) {
    guard let id = map.unsigned32(.exceptionThreadID) else { return }
    var known = exception ?? ExceptionSnapshot(threadID: id)
    known.threadID = id
    if isWhole {
      // A minidump stores 0 for a number that was lost; 0 is also a signal code.
      (known.signal, known.code, known.address) = (nil, nil, nil)
    }
    known.overlay(map)
    exception = known
  }

  private mutating func apply(threads maps: [IntermediateDumpMap], isWhole: Bool) {
    var indices: [UInt32: Int] = [:]
    for (index, thread) in threads.enumerated() where indices[thread.id] == nil {
      indices[thread.id] = index
    }
    // Stacks do not share memory: a file that lists the same bytes for every thread gets them once.
    var stackBytesLeft = memory.regions.reduce(0) { $0 + $1.bytes.count }
    for map in maps {
      guard let id = map.unsigned32(.threadID) else { continue }
      let index: Int
      if let known = indices[id] {
        index = known
      } else {
        index = threads.count
        indices[id] = index
        threads.append(ThreadSnapshot(id: id))
      }
      if isWhole, threads[index].context == nil {
        (threads[index].stackPointer, threads[index].instructionPointer) = (nil, nil)
      }
      threads[index].overlay(map)
      if case .x86_64(var context)? = threads[index].context,
        let area = map.array(of: .floatingPointState), area.count >= X86_64Context.legacyAreaSize
      {
        context.floatingPointState = area
        threads[index].context = .x86_64(context)
      }
      apply(stack: map.elements(.stack), toThreadAt: index, bytesLeft: &stackBytesLeft)
    }
  }

  /// Gives a thread the pieces of its stack that its one descriptor in the minidump has no room
  /// for.
  private mutating func apply(
    stack maps: [IntermediateDumpMap], toThreadAt index: Int, bytesLeft: inout Int
  ) {
    var pieces: [MemoryRegion] = []
    for map in maps {
      guard let address = map.address(.regionAddress),
        let size = map.unsigned(.regionSize).flatMap({ Int(exactly: $0) }),
        size <= bytesLeft, let bytes = memory.bytes(at: address, count: size), !bytes.isEmpty
      else { return }
      bytesLeft -= size
      if let known = threads[index].stack.first, known.address == address,
        known.bytes.count == size
      {
        pieces.append(known)
      } else {
        pieces.append(MemoryRegion(address: address, bytes: Array(bytes)))
      }
    }
    if !pieces.isEmpty { threads[index].stack = pieces }
  }
}
