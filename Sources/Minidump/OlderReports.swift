internal import IntermediateDump
internal import ProcessSnapshot

// Reports of versions before decision 38, which kept what has no standard place in two streams of
// their own: an intermediate dump that adds to the standard streams, and symbols in another form.
// Nothing else uses this file.

extension MinidumpStreamType {
  fileprivate static let olderExtension = MinidumpStreamType(rawValue: 0x504D_0001)
  fileprivate static let olderSymbols = MinidumpStreamType(rawValue: 0x504D_0002)

  /// True for the stream that begins with who crashed and when.
  var isSummarized: Bool { self == .postmortemDump || self == .olderExtension }
}

extension MinidumpDecoder {
  /// True for a report of such a version.
  var isOlderReport: Bool { file.streams[.olderExtension] != nil }

  /// Adds what the two streams have to what the standard ones had, which is rounded or shortened.
  mutating func decodeOlderReport() {
    decodeOlderSymbols()
    let document = file.copy(.olderExtension)
      .flatMap { try? IntermediateDumpDocument(parsing: $0) }
    if document == nil { file.note("the extension stream is no intermediate dump") }
    if let damage = document?.damage { file.note("the extension stream: \(damage)") }
    // One that is damaged only adds.
    if document?.isComplete != true { decodeDescriptions() }
    if let document { snapshot.apply(older: document) }
  }

  /// More functions at one address than any compiler inlines.
  private static var maximumFunctions: UInt64 { 1 << 10 }

  /// Reads the second stream, up to what is damaged.
  ///
  /// Version 1 (4 bytes), count of addresses (4); for each the address (8) and a
  /// count of functions (4), for each of these flags (4; 1 inlined, 2 offset known, 4 file known, 8
  /// line known, 16 column known, 32 line approximate), offset (8), line (4), column (4), then name
  /// and file, each with its count of bytes (4) in front.
  private mutating func decodeOlderSymbols() {
    guard let stream = file.streams[.olderSymbols] else { return }
    guard file.integer(at: stream.lowerBound, width: 4) == 1,
      let count = file.integer(at: stream.lowerBound + 4, width: 4)
    else { return file.note("the stream of stored symbols has an unknown version") }
    var offset = stream.lowerBound + 8
    var symbols = StoredSymbols()
    for _ in 0..<min(Int(clamping: count), MinidumpFile.maximumEntries) {
      guard offset + 12 <= stream.upperBound, let address = file.integer(at: offset, width: 8),
        let functionCount = file.integer(at: offset + 8, width: 4),
        functionCount <= Self.maximumFunctions
      else { break }
      offset += 12
      var functions: [StoredSymbols.Function] = []
      for _ in 0..<functionCount {
        guard let function = storedFunction(at: &offset, end: stream.upperBound) else { break }
        functions.append(function)
      }
      guard UInt64(functions.count) == functionCount else { break }
      symbols.functions[Address(address)] = functions
    }
    if UInt64(symbols.functions.count) != count {
      file.note("the stream of stored symbols is damaged")
    }
    snapshot.storedSymbols = symbols
  }

  private mutating func storedFunction(at offset: inout Int, end: Int) -> StoredSymbols.Function? {
    guard offset + 20 <= end, let flags = file.integer(at: offset, width: 4),
      let start = file.integer(at: offset + 4, width: 8),
      let line = file.integer(at: offset + 12, width: 4),
      let column = file.integer(at: offset + 16, width: 4)
    else { return nil }
    offset += 20
    guard let name = storedText(at: &offset, end: end), let path = storedText(at: &offset, end: end)
    else { return nil }
    return StoredSymbols.Function(
      linkageName: name, offset: flags & 2 != 0 ? start : nil, isInlined: flags & 1 != 0,
      file: flags & 4 != 0 ? path : nil,
      line: flags & 8 != 0 ? UInt32(truncatingIfNeeded: line) : nil,
      column: flags & 16 != 0 ? UInt32(truncatingIfNeeded: column) : nil,
      isLineApproximate: flags & 32 != 0)
  }

  private mutating func storedText(at offset: inout Int, end: Int) -> String? {
    guard offset + 4 <= end, let size = file.integer(at: offset, width: 4),
      size <= MinidumpFile.maximumStringSize, let count = Int(exactly: size),
      count <= end - offset - 4, let bytes = file.copy(offset + 4..<offset + 4 + count)
    else { return nil }
    offset += 4 + count
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ProcessSnapshot {
  fileprivate mutating func apply(older document: IntermediateDumpDocument) {
    let root = document.root
    if document.isComplete {
      // These may be the writer's; the document has the program's own.
      launchAnnotations[MinidumpFormat.productAnnotation] = nil
      launchAnnotations[MinidumpFormat.versionAnnotation] = nil
    }
    let listed = linkMap
    Self.mapFields.read(root, into: &self)
    linkMap = listed
    if let map = root.map(.linkMap), var known = listed {
      LinkMap.mapFields.read(map, into: &known)
      linkMap = known
    }
    // They have all that was said of the program, whoever said it.
    for (name, value) in launchAnnotations where annotations[name] != value {
      addedAnnotations[name] = value
    }
    // A typed annotation has its state with it.
    for annotation in client.annotations {
      if let name = annotation.name, launchAnnotations[name] == annotation.text {
        launchAnnotations[name] = nil
      }
    }
    if let map = root.map(.exception) { apply(exception: map, isWhole: document.isComplete) }
    apply(threads: root.elements(.threads), isWhole: document.isComplete)
    let deleted = Set(
      root.elements(.modules).compactMap { map -> Address? in
        map.text(.modulePath)?.hasSuffix(" (deleted)") == true ? map[.moduleAddress] : nil
      })
    for index in modules.indices where deleted.contains(modules[index].address) {
      modules[index].isDeleted = true
    }
    if var known = exception, let thread = threads.first(where: { $0.id == known.threadID }) {
      known.context = thread.context ?? known.context
      exception = known
    }
  }

  private mutating func apply(exception map: IntermediateDumpMap, isWhole: Bool) {
    guard let id: UInt32 = map[.exceptionThreadID] else { return }
    var known = exception ?? ExceptionSnapshot(threadID: id)
    if isWhole {
      // A minidump stores 0 for a number that was lost; 0 is also a signal code.
      (known.signal, known.code, known.address) = (nil, nil, nil)
    }
    ExceptionSnapshot.mapFields.read(map, into: &known)
    exception = known
  }

  private mutating func apply(threads maps: [IntermediateDumpMap], isWhole: Bool) {
    var indices: [UInt32: Int] = [:]
    for (index, thread) in threads.enumerated() where indices[thread.id] == nil {
      indices[thread.id] = index
    }
    var pieces = DumpMemory(memory)
    for map in maps {
      guard let id: UInt32 = map[.threadID] else { continue }
      let index = indices[id] ?? threads.count
      if index == threads.count {
        indices[id] = index
        threads.append(ThreadSnapshot(id: id))
      }
      if isWhole, threads[index].context == nil {
        (threads[index].stackPointer, threads[index].instructionPointer) = (nil, nil)
      }
      ThreadSnapshot.mapFields.read(map, into: &threads[index])
      if case .x86_64(var context)? = threads[index].context,
        let area: [UInt8] = map[.floatingPointState], area.count >= 512
      {
        context.floatingPointState = area
        threads[index].context = .x86_64(context)
      }
      // The pieces of the stack that its one descriptor has no room for.
      let maps = map.elements(.stack)
      let stack = maps.compactMap { pieces.region($0) }
      if !stack.isEmpty, stack.count == maps.count { threads[index].stack = stack }
    }
  }
}
