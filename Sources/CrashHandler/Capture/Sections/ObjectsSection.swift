internal import IntermediateDump

/// Writes the objects to which the crashing thread's registers and the top of its stack point.
///
/// The section also writes the metadata from which the type names of these objects can be found.
///
/// If the dump leaves out secrets, the section writes no contents of objects. It writes the first two words of each
/// object, the third word of an error, and the metadata, and replaces words that may be secrets.
///
/// RUNS-DURING-CRASH.
@c(pm_write_objects) @_noLocks
func pm_write_objects(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.capturesItself, let context = capture.session.exception.signal.context else {
    return
  }
  capture.writer.startArray(.memory)
  var objects = ObjectWriter(capture)
  objects.write(context)
  capture.writer.end()
}

/// Recognizes objects by their first two words: the pointer to the metadata, and the reference count.
///
/// The metadata begins with its kind, which is checked too (`MetadataKind`).
///
/// RUNS-DURING-CRASH.
@safe
private struct ObjectWriter {
  /// The number of bytes at the top of the stack that are searched for pointers to objects.
  private static var stackSize: Int { 4096 }
  private static var objectSize: Int { 64 }
  /// The size of an object's head: the metadata pointer, the reference count and, in an error, the error's type.
  private static var headSize: Int { 24 }
  /// The maximum number of bytes of all regions together; 2% of the dump's size so far if that is less.
  private static var byteLimit: UInt64 { 4096 }
  /// The maximum number of regions; the limit on bytes is usually reached first.
  private static var regionLimit: Int { 256 }

  private let memory: SafeMemory
  /// `plain` writes words unchanged; `regions` replaces words that may be secrets, if the dump leaves out secrets.
  private let (regions, plain): (MemoryWriter, MemoryWriter)
  private let isSanitized: Bool
  private let mappings: MappingTable
  private let scratch: Scratch
  /// The number of bytes that may still be written, and the number of regions written so far.
  private var bytesLeft: UInt64
  private var written = 0
  /// Three stages, each read with one system call: for the first words of possible objects, for the metadata of these
  /// objects, and for the types to which metadata and errors refer.
  private let (objects, types, contents): (MemoryStage, MemoryStage, MemoryStage)
  /// The offset, in scratch memory, of the first words of a type.
  private static var headOffset: Int { 8192 }
  // A stage with 32 ranges of at most `objectSize` bytes, and its table, takes less than 4 KiB, so these offsets are 4
  // KiB apart.
  private static var objectsOffset: Int { 8448 }
  private static var contentsOffset: Int { 12544 }
  private static var typesOffset: Int { 16640 }

  fileprivate init(_ capture: Capture) {
    memory = capture.cachedMemory
    (regions, plain) = (capture.cachedRegions, capture.plainRegions)
    isSanitized = capture.installed.isSanitized
    mappings = capture.session.mappings
    scratch = capture.session.scratch
    objects = MemoryStage(memory, in: scratch.dropFirst(ObjectWriter.objectsOffset))
    types = MemoryStage(memory, in: scratch.dropFirst(ObjectWriter.typesOffset))
    contents = MemoryStage(memory, in: scratch.dropFirst(ObjectWriter.contentsOffset))
    let share = capture.writer.size / 50
    bytesLeft = share < ObjectWriter.byteLimit ? share : ObjectWriter.byteLimit
  }

  fileprivate mutating func write(_ context: SignalContext) {
    writeObjects(context.generalRegisters, isOnStack: false)
    let count = memory.copy(context.stackPointer, to: scratch, count: ObjectWriter.stackSize)
    writeObjects(scratch.bytes(count: count), isOnStack: true)
  }

  /// Writes the objects that the words point to, in batches of as many objects as a stage has room for.
  ///
  /// For each batch, each of the stages `objects`, `types` and `contents` is read once.
  private mutating func writeObjects(_ words: Bytes, isOnStack: Bool) {
    var offset = 0
    while offset &+ 8 <= words.count {
      objects.removeAll()
      while offset &+ 8 <= words.count, !objects.isFull {
        add(
          words.word(offset), to: objects, ObjectWriter.objectSize, least: ObjectWriter.headSize)
        offset &+= 8
      }
      objects.read()
      readTypes()
      readContents()
      for index in Indices(objects.count) { writeObject(index, isOnStack: isOnStack) }
    }
  }

  /// Reads the metadata of all collected objects with one system call.
  private func readTypes() {
    types.removeAll()
    for index in Indices(objects.count) {
      if let head = head(ofObject: index) {
        add(head.word(0), to: types, ClassMetadata.searchedSize)
      }
    }
    types.read()
  }

  /// Reads the metadata of types in boxes and errors, and of types that may be generic arguments of classes.
  private func readContents() {
    contents.removeAll()
    for index in Indices(objects.count) {
      if let head = head(ofObject: index), let type = type(head.word(0)) {
        switch MetadataKind(type.word(0)) {
        case .class where ObjectWriter.isClass(type):
          var offset = ClassMetadata.argumentsOffset
          while offset < ObjectWriter.classEnd(type) {
            add(type.word(offset), to: contents)
            offset &+= 8
          }
        case .box: add(type.word(16), to: contents)
        case .error: add(head.word(16), to: contents)
        default: break
        }
      }
    }
    contents.read()
  }

  /// Adds a range to a stage, unless the stage already has a range with that address, or no object or metadata can be
  /// there.
  private func add(
    _ address: UInt64, to stage: MemoryStage, _ count: Int = ClassMetadata.size,
    least: Int = ClassMetadata.size
  ) {
    guard isCandidate(address), stage.index(of: address) == nil else { return }
    stage.add(address, count: count, least: least)
  }

  /// Returns the first words of a possible object; nil if they were not read, or if the first two cannot be those of an
  /// object.
  private func head(ofObject index: Int) -> Bytes? {
    guard let head = objects.bytes(index), isCandidate(head.word(0)),
      countsReferences(head.word(8))
    else { return nil }
    return head
  }

  /// Returns the first words of metadata; nil if they cannot be read.
  ///
  /// If no stage contains the metadata, it is read now.
  private func type(_ metadata: UInt64) -> Bytes? {
    if let index = types.index(of: metadata), let bytes = types.bytes(index) { return bytes }
    if let index = contents.index(of: metadata), let bytes = contents.bytes(index) { return bytes }
    let place = scratch.dropFirst(ObjectWriter.headOffset)
    let count = memory.copy(metadata, to: place, count: ClassMetadata.size)
    return count < 8 ? nil : place.bytes(count: count)
  }

  /// True for a multiple of 8 that is an address in readable memory without code, because code contains no objects.
  private func isCandidate(_ word: UInt64) -> Bool {
    guard word & 7 == 0, let mapping = mappings.mapping(around: word) else { return false }
    return mapping.has(Mapping.isReadable) && !mapping.has(Mapping.isExecutable)
  }

  /// Writes the metadata of an object and, unless the dump already contains them, the object's first words.
  ///
  /// Nothing is written if the kind of the metadata is not known.
  private mutating func writeObject(_ index: Int, isOnStack: Bool) {
    guard let head = head(ofObject: index), let type = type(head.word(0)),
      let kind = MetadataKind(type.word(0))
    else { return }
    let (object, metadata, content) = (objects.address(index), head.word(0), type.word(16))
    var isError = false
    switch kind {
    case .class where ObjectWriter.isClass(type): writeClass(metadata, type)
    case .closure, .task: write(metadata, type.prefix(kind.keptSize))
    case .box:
      write(metadata, type.prefix(kind.keptSize))
      writeType(content)
    case .error:
      isError = true
      write(metadata, type.prefix(kind.keptSize))
      writeType(head.word(16))
    default: return
    }
    // The memory that registers point to is already in the dump, unless the dump leaves out secrets.
    if !isSanitized, isOnStack { write(object, head) }
    guard isSanitized else { return }
    // The first two words cannot be secrets if the reference count is small, because the first word points to metadata.
    // An error's third word has not been checked, so `isPlain` is false for an error.
    let isPlain = !isError && head.word(8) & ~ReferenceCountWord.smallCounts == 0
    write(object, head.prefix(isError ? ObjectWriter.headSize : 16), isPlain: isPlain)
  }

  /// Writes the metadata of a class up to its descriptor, and the types that may be its generic arguments.
  ///
  /// Words after the descriptor are written if they point to types; those types are written too.
  private mutating func writeClass(_ metadata: UInt64, _ type: Bytes) {
    let end = ObjectWriter.classEnd(type)
    write(metadata, type.prefix(ClassMetadata.size))
    var offset = ClassMetadata.argumentsOffset
    while offset < end {
      if writeType(type.word(offset)) {
        write(
          metadata &+ UInt64(truncatingIfNeeded: offset), type.dropFirst(offset).prefix(8))
      }
      offset &+= 8
    }
  }

  /// Writes the type metadata at an address; returns false if there is no type metadata at the address.
  @discardableResult
  private mutating func writeType(_ metadata: UInt64) -> Bool {
    guard isCandidate(metadata), let type = type(metadata), let kind = MetadataKind(type.word(0)),
      kind.isType
    else { return false }
    if case .class = kind, !ObjectWriter.isClass(type) { return false }
    write(metadata, type.prefix(kind.keptSize))
    return true
  }

  /// The offset of the end of a class's metadata, or of the end of the part that was read.
  private static func classEnd(_ type: Bytes) -> Int {
    let end = ClassMetadata.end(sizes: type.word(ClassMetadata.sizesOffset))
    return end < type.count ? end : type.count
  }

  private static func isClass(_ type: Bytes) -> Bool {
    ClassMetadata.isPlausible(
      sizes: type.word(ClassMetadata.sizesOffset),
      descriptor: type.word(ClassMetadata.descriptorOffset))
  }

  /// True if the word can be the second word of an object; the side table must be in memory.
  private func countsReferences(_ word: UInt64) -> Bool {
    switch ReferenceCountWord(word) {
    case .immortal, .counts: true
    case .sideTable(let table): isCandidate(table)
    case nil: false
    }
  }

  /// Writes a region, unless it was already written or would exceed a limit of this section (`byteLimit`,
  /// `regionLimit`).
  private mutating func write(_ address: UInt64, _ bytes: Bytes, isPlain: Bool = false) {
    let size = UInt64(truncatingIfNeeded: bytes.count)
    guard size <= bytesLeft, written < ObjectWriter.regionLimit else { return }
    // The addresses of regions that were already written are listed in scratch memory, after the copy of the stack.
    for index in Indices(written) {
      if scratch.word(ObjectWriter.stackSize &+ index &* 8) == address { return }
    }
    scratch.setWord(ObjectWriter.stackSize &+ written &* 8, address)
    written &+= 1
    bytesLeft &-= size
    (isPlain ? plain : regions).write(address, bytes)
  }
}
