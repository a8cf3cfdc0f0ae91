internal import CSignalSafe
internal import IntermediateDump

extension SummaryLines {
  /// Writes the words of the crashing thread's stack, and the modules into which they point, to the dump for the log;
  /// adds the innermost frames to the last line.
  ///
  /// The stack is read through the `PageCache`, because its words are read one by one.
  @_noLocks
  mutating func appendStack(_ context: SignalContext) {
    var images = capture.images
    images.findAll()
    var stack = StackWords(
      lines: self, context: context, images: images, memory: capture.cachedMemory,
      capture: capture, place: context.stackPointer)
    stack.append()
    self = stack.lines
  }
}

/// The words of the crashing thread's stack by which a reader of the log finds the frames: the chain of frame records
/// and, where there is none, candidates.
///
/// If a function keeps no frame pointer (such as the libc functions on the way to `abort`), its return address is in
/// some word of the stack. Before the first frame record, below code that is not the program's own, and where the chain
/// breaks, each word that points into code is a candidate, and so is each word that may be a saved frame pointer. The
/// reader finds the callers among them with the modules' unwind tables.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
@safe
private struct StackWords {
  /// The maximum number of candidates for one search.
  private static var candidateLimit: Int { 48 }
  /// How many bytes of the stack are searched for candidates: more than glibc's largest frame on the way to `abort`.
  private static var searchedSize: UInt64 { 16384 }
  /// The number of bytes below a return address in which the called function may have saved registers.
  private static var savedSize: UInt64 { 48 }
  private static var pathLimit: Int { 400 }
  /// The maximum number of frame records that are read; to read all of them takes about 50 ms in a debug build.
  private static var recordLimit: Int { 16384 }
  /// The maximum number of innermost frame records that are added.
  private static var innermostLimit: Int { 64 }
  /// The size in bytes at which a property ends, so that few words are cut off together.
  private static var propertySize: Int { 160 }
  /// The number of outermost frame records that are added of a stack with more than the innermost ones.
  private static var outermostCount: Int { 32 }
  /// The offset, in the room for words, of the addresses of the last frame records.
  private static var outermostOffset: Int { 192 }

  var lines: SummaryLines
  let context: SignalContext
  let images: ImageFinder
  let memory: SafeMemory
  let capture: Capture
  /// The end of the stack's mapping; the largest number if the mappings are not known, and 0 if no readable mapping
  /// ends above the stack pointer.
  var end = UInt64.max
  /// The address of the lowest word of the stack that was not examined yet.
  var place: UInt64
  /// The number of bytes of the next property.
  var size = 0
  var modules = 0
  /// True if the chain of frame records may not be the crashing thread's: its start was found by a search.
  var isGuess = false

  /// Follows the chain of frame pointers, and adds its innermost and outermost records; scans the stack word by word
  /// below the first frame record, and where the chain breaks.
  fileprivate mutating func append() {
    addCode(context.instructionPointer, isReturnAddress: false)
    // If the crash was a call to an address without code, the return address is still where the call put it: in the
    // link register, or on x86_64 at the stack pointer.
    let isCall = !images.isCode(context.instructionPointer)
    #if arch(arm64)
      let caller = CodeAddress.of(context.linkRegister)
      if images.isCode(caller) { addCode(caller, isFrame: isCall) }
    #else
      if isCall, let caller = word(place), images.isCode(caller) {
        addCode(caller)
        add(place, count: 1)
        place &+= 8
      }
    #endif
    let outermost = capture.installed.summary.words.dropFirst(StackWords.outermostOffset)
    var records = 0
    // The address of the next frame record, and the saved frame pointer in it; nil if the next record is not known.
    var (pointer, next) = (context.framePointer, record(at: context.framePointer))
    // Below a large frame that has overflowed the stack, the stack pointer is in other memory.
    setEnd(above: next == nil ? context.stackPointer : pointer)
    var saved: (place: UInt64, value: UInt64) = (0, 0)
    var (isSearching, start, candidates) = (true, place, 0)
    while capture.writer.bufferedCount < LogPiece.dumpSize, records < StackWords.recordLimit {
      if isSearching, next == nil || place < pointer, place &- start < StackWords.searchedSize,
        candidates < StackWords.candidateLimit, place & 7 == 0, let value = word(place)
      {
        let (target, slot) = (CodeAddress.of(value), place)
        place &+= 8
        if images.isCode(target) {
          addCode(target, isFrame: false)
          add(slot, count: 1)
          candidates &+= 1
          if addInterrupted(by: target, at: slot) { (start, candidates) = (place, 0) }
          if next == nil, saved.value != 0, slot &- saved.place <= StackWords.savedSize {
            (pointer, next, isGuess) = (saved.value, record(at: saved.value), true)
          }
        } else if value > slot, record(at: value) != nil {
          add(slot, count: 1)
          candidates &+= 1
          saved = (slot, value)
        }
      } else if let caller = next {
        place = pointer &+ 16
        isSearching = records < StackWords.innermostLimit && !add(record: pointer)
        outermost.setWord((records & (StackWords.outermostCount &- 1)) &* 8, pointer)
        records &+= 1
        // Bit 60 marks the record of a Swift async function, and is not a part of the address.
        pointer = caller & ~(1 &<< 60)
        next = record(at: pointer)
        if next == nil, records < StackWords.innermostLimit {
          (isSearching, isGuess) = (true, true)
        }
        (start, candidates, saved) = (place, 0, (0, 0))
      } else {
        break
      }
    }
    // If not all records were read, the last ones are not the outermost.
    let first = records &- StackWords.outermostCount
    var record = first > StackWords.innermostLimit ? first : StackWords.innermostLimit
    while record < records, records < StackWords.recordLimit {
      add(record: outermost.word((record & (StackWords.outermostCount &- 1)) &* 8))
      record &+= 1
    }
    endProperty()
  }

  /// Sets the end of the stack.
  ///
  /// After a stack overflow, the stack pointer is in the guard page, or directly below the stack's mapping. So the next
  /// readable mapping is treated as the stack.
  private mutating func setEnd(above address: UInt64) {
    let mappings = capture.session.mappings
    let index = mappings.readable(endingAbove: address)
    end = index < mappings.count ? mappings[index].end : mappings.count > 0 ? 0 : .max
  }

  /// Returns the saved frame pointer of the frame record at an address; nil if the address is unaligned, unreadable or
  /// below `place`, or if no code address follows the saved frame pointer.
  private func record(at address: UInt64) -> UInt64? {
    guard address & 7 == 0, address >= place, address &- context.stackPointer < 1 &<< 32,
      let next = word(address),
      let target = word(address &+ 8), images.isCode(CodeAddress.of(target))
    else { return nil }
    return next
  }

  @inline(never)
  private func word(_ address: UInt64) -> UInt64? { address < end ? memory.word(address) : nil }

  /// Adds the module of a code address, unless it was added before.
  ///
  /// - Parameter isFrame: false for a candidate, which is not among the frames of `lines`.
  /// - Returns: true if the address is in the program's own file, which is the first image.
  @discardableResult
  private mutating func addCode(
    _ address: UInt64, isFrame: Bool = true, isReturnAddress: Bool = true
  ) -> Bool {
    // For a return address, the lookup uses the preceding address, because the call may be the last instruction of
    // the module's last function.
    let (index, image) = images.image(around: isReturnAddress ? address &- 1 : address)
    guard let image else {
      if isFrame { lines.appendFrame(Bytes(""), address, isGuess: isGuess) }
      return false
    }
    let path = images.path(of: index, image)
    if isFrame { lines.appendFrame(path.fileName, address &- image.start, isGuess: isGuess) }
    // Scratch memory holds, after the room for one image, the start addresses of the modules that were added.
    let starts = capture.session.scratch.dropFirst(ModuleImage.scratchSize)
    var module = 0
    while module < modules, starts.word(module &* 8) != image.start { module &+= 1 }
    guard module == modules else { return index == 0 }
    endProperty()
    starts.setWord(module &* 8, image.start)
    modules &+= 1
    capture.writer.startArray(.modules)
    capture.writer.startMap(.module)
    capture.writer.unsigned(.moduleSize, image.end &- image.start)
    capture.write(
      image, images.images[index].source, path.count <= StackWords.pathLimit ? path : Bytes(""))
    capture.writer.end()
    capture.writer.end()
    return index == 0
  }

  /// Adds a frame record; returns true if the code that it returns to is in the program's own file.
  @discardableResult
  private mutating func add(record address: UInt64) -> Bool {
    let target = CodeAddress.of(word(address &+ 8) ?? 0)
    let isProgram = addCode(target)
    add(address, count: 2)
    addInterrupted(by: target, at: address &+ 8)
    return isProgram
  }

  /// If a return address is that of a signal handler, adds the registers of the interrupted code, and continues at its
  /// stack pointer: below that are only leftovers.
  ///
  /// The registers are those from r8 to the flags in `uc_mcontext`. On arm64, the kernel writes a frame record of the
  /// interrupted code.
  @discardableResult
  private mutating func addInterrupted(by target: UInt64, at slot: UInt64) -> Bool {
    #if arch(x86_64)
      // The address is also in each `sigaction` on a stack.
      guard target == context.restorer, let code = word(slot &+ 176), images.isCode(code),
        let flags = word(slot &+ 184), flags & 2 != 0, flags < 1 &<< 22
      else { return false }
      for group in Indices(6) { add(slot &+ 48 &+ UInt64(group) &* 24, count: 3) }
      guard let stackPointer = word(slot &+ 168), stackPointer > place else { return false }
      place = stackPointer
      setEnd(above: stackPointer)
      return true
    #else
      return false
    #endif
  }

  /// Adds a group of one to three words at an address of the stack.
  private mutating func add(_ address: UInt64, count: Int) {
    let words = capture.installed.summary.words
    let distance = (address &- (context.stackPointer & ~7)) &>> 3
    words.setWord(size, distance &<< 2 | UInt64(truncatingIfNeeded: count))
    size &+= 4
    for index in Indices(count) {
      let value = word(address &+ UInt64(truncatingIfNeeded: index &* 8)) ?? 0
      words.setWord(size, capture.sanitizer?.sanitized(value) ?? value)
      size &+= 8
    }
    if size >= StackWords.propertySize { endProperty() }
  }

  /// Writes the groups since the last call as a property.
  private mutating func endProperty() {
    guard size > 0 else { return }
    capture.writer.startMap(.crashingThread)
    capture.writer.property(.stackWords, capture.installed.summary.words.bytes(count: size))
    capture.writer.end()
    size = 0
  }
}
