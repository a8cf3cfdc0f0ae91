internal import CSignalSafe
internal import IntermediateDump

extension SectionRow {
  static var objects: SectionRow {
    @_noLocks get { unsafe SectionRow(.objects, pm_write_objects) }
  }
}

/// Writes the objects that the crashing thread's registers and the top of its stack point to, and
/// their metadata, by which a report names them; nothing where secrets are left out: a private
/// report has no pointers to them.
///
/// RUNS-DURING-CRASH.
@c(pm_write_objects) @_noLocks
func pm_write_objects(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.capturesItself, !capture.installed.isSanitized,
    let context = capture.session.exception.signal.context
  else { return }
  capture.writer.startArray(.memory)
  ObjectWriter(capture).write(context)
  capture.writer.end()
}

/// Tells objects by their first two words: metadata, which begins with its kind, and references.
///
/// RUNS-DURING-CRASH. Source: swift include/swift/ABI/MetadataKind.def; SwiftShims/swift/shims/RefCount.h.
@safe
private struct ObjectWriter {
  /// Bytes of the stack that are searched.
  private static var stackSize: Int { 4096 }
  private static var objectSize: Int { 64 }
  /// Of a class's metadata up to its descriptor, and with the words that may be generic arguments.
  private static var classSize: Int { 48 }
  private static var argumentsSize: UInt64 { 256 }
  /// Bytes of all regions; the dump's own size bounds them too.
  private static var byteLimit: UInt64 { 4096 }
  /// Addresses that are remembered; what the bytes allow is fewer, mostly.
  private static var regionLimit: UInt64 { 256 }
  /// Offset in scratch memory of the addresses that were written, behind the stack.
  private static var writtenOffset: Int { 4096 }

  private let memory: SafeMemory
  private let regions: MemoryWriter
  private let mappings: MappingTable
  private let scratch: Scratch
  private let limit: UInt64
  /// Offsets in scratch memory: bytes and regions written.
  private static var bytesOffset: Int { 8192 }
  private static var countOffset: Int { 8200 }
  private static var stageOffset: Int { 8208 }

  @_noLocks
  init(_ capture: Capture) {
    memory = capture.cachedMemory
    regions = capture.cachedRegions
    mappings = capture.session.mappings
    scratch = capture.session.scratch
    let share = capture.writer.size / 50
    limit = share < ObjectWriter.byteLimit ? share : ObjectWriter.byteLimit
    scratch.setWord(ObjectWriter.bytesOffset, 0)
    scratch.setWord(ObjectWriter.countOffset, 0)
  }

  @_noLocks
  func write(_ context: SignalContext) {
    writeObjects(context.generalRegisters, isOnStack: false)
    let count = memory.copy(context.stackPointer, to: scratch, count: ObjectWriter.stackSize)
    writeObjects(scratch.bytes(count: count), isOnStack: true)
  }

  /// Writes the objects that words point to: the heads of as many as a stage has room for are read by one
  /// call.
  private func writeObjects(_ words: Bytes, isOnStack: Bool) {
    let stage = MemoryStage(memory, in: scratch.dropFirst(ObjectWriter.stageOffset))
    var offset = 0
    while offset &+ 8 <= words.count {
      stage.removeAll()
      var end = offset
      var count = 0
      while end &+ 8 <= words.count, count < Int(PM_COPIED_RANGES) {
        if isCandidate(words.word(end)), stage.add(words.word(end), count: 16) { count &+= 1 }
        end &+= 8
      }
      stage.read()
      while offset < end {
        let object = words.word(offset)
        offset &+= 8
        if let head = stage.bytes(object, count: 16) {
          writeObject(object, head.word(0), head.word(8), isOnStack: isOnStack)
        }
      }
    }
  }

  private func isCandidate(_ word: UInt64) -> Bool { word & 7 == 0 && isData(word) }

  /// Writes the object at an address, if one is there.
  private func writeObject(
    _ object: UInt64, _ metadata: UInt64, _ counts: UInt64, isOnStack: Bool
  ) {
    guard isCandidate(metadata), ObjectWriter.countsReferences(counts),
      let kind = memory.word(metadata)
    else { return }
    switch kind {
    case 0: writeClass(metadata)
    // Of captured variables; of a box and of an error, which say what is in them; of a task.
    case 0x400, 0x502: write(metadata, count: 24)
    case 0x500:
      write(metadata, count: 24)
      writeType(memory.word(metadata &+ 16) ?? 0)
    case 0x501:
      write(metadata, count: 8)
      writeType(memory.word(object &+ 16) ?? 0)
    default: return
    }
    // What registers point at is in the dump.
    write(object, count: isOnStack ? ObjectWriter.objectSize : 0)
  }

  /// Writes the metadata of a class up to its descriptor, and of the words behind it those that point to
  /// types, with these: they may be its generic arguments.
  private func writeClass(_ metadata: UInt64) {
    write(metadata, count: ObjectWriter.classSize)
    // The size of all of it, and of what lies before its address.
    let sizes = memory.word(metadata &+ 32) ?? 0
    let size = (sizes & 0xFFFF_FFFF) &- (sizes &>> 32)
    let end = size < ObjectWriter.argumentsSize ? size : ObjectWriter.argumentsSize
    var place = metadata &+ 56
    while place < metadata &+ end {
      if writeType(memory.word(place) ?? 0) { write(place, count: 8) }
      place &+= 8
    }
  }

  /// Writes the metadata at an address, if it is that of a type; returns whether it is.
  @discardableResult
  private func writeType(_ metadata: UInt64) -> Bool {
    guard metadata & 7 == 0, isData(metadata), let kind = memory.word(metadata),
      kind == 0 || (kind >= 0x200 && kind <= 0x306)
    else { return false }
    write(metadata, count: kind == 0 ? ObjectWriter.classSize : 32)
    return true
  }

  /// True for a word that can count an object's references.
  private static func countsReferences(_ word: UInt64) -> Bool {
    word & 0xFFFF_FFFF == 0xFFFF_FFFF || word &>> 62 == 3
      || (word &>> 63 == 0 && word & 1 == 1 && word & 0xFFFF_FFFF > 1)
  }

  private func write(_ address: UInt64, count: Int) {
    let (bytes, written) = (
      scratch.word(ObjectWriter.bytesOffset), scratch.word(ObjectWriter.countOffset)
    )
    let total = bytes &+ UInt64(truncatingIfNeeded: count)
    guard total <= limit, written < ObjectWriter.regionLimit else { return }
    var index = 0
    while index < Int(truncatingIfNeeded: written) {
      if scratch.word(ObjectWriter.writtenOffset &+ index &* 8) == address { return }
      index &+= 1
    }
    scratch.setWord(ObjectWriter.writtenOffset &+ index &* 8, address)
    scratch.setWord(ObjectWriter.countOffset, written &+ 1)
    scratch.setWord(ObjectWriter.bytesOffset, total)
    if count > 0 { _ = regions.writeReadable(address, count: count) }
  }

  /// True for an address that can be read, and not executed: there is no object in code.
  private func isData(_ address: UInt64) -> Bool {
    let index = mappings.index(endingAbove: address)
    guard index < mappings.count else { return false }
    let mapping = mappings[index]
    return mapping.start <= address && mapping.has(Mapping.isReadable)
      && !mapping.has(Mapping.isExecutable)
  }
}
