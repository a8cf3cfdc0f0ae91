extension SummaryLines {
  /// Adds the lines of the crashing thread's stack.
  ///
  /// The stack is read through the `PageCache`, because its words are read one by one.
  @_noLocks
  mutating func appendStack(_ context: SignalContext) {
    var images = capture.images
    images.findAll()
    // After a stack overflow, the stack pointer is in the guard page, or directly below the stack's mapping. So the
    // next readable mapping is treated as the stack.
    let mappings = capture.session.mappings
    let index = mappings.readable(endingAbove: context.stackPointer)
    let end = index < mappings.count ? mappings[index].end : mappings.count > 0 ? 0 : .max
    var stack = StackLines(
      lines: self, context: context, images: images, memory: capture.cachedMemory,
      scratch: capture.session.scratch, end: end, place: context.stackPointer)
    stack.append()
    self = stack.lines
  }
}

/// The lines of the summary that show the crashing thread's stack.
///
/// The lines follow the chain of frame pointers. Before the first frame record, and where the chain breaks, they list
/// candidates for return addresses, found by scanning the stack.
///
/// If a function keeps no frame pointer (such as the libc functions on the way to `abort`), its return address is in
/// some word of the stack. Each word that points into code is a candidate, up to the next frame record. `postmortem
/// symbolicate` finds the caller among the candidates by their positions and the unwind tables.
///
/// The first recursion in the chain is folded, so that the stack after it fits.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
@safe
private struct StackLines {
  private static var candidateLimit: Int { 24 }
  /// The maximum number of frames that are examined; to examine all of them takes about 50 ms in a debug build.
  private static var frameLimit: Int { 16384 }
  /// How many bytes of the stack are searched for words that may be return addresses (candidates): more than glibc's
  /// largest frame on the way to `abort`.
  private static var searchedSize: UInt64 { 16384 }
  /// The number of bytes below a return address in which the called function may have saved registers.
  private static var savedSize: UInt64 { 48 }

  var lines: SummaryLines
  let context: SignalContext
  let images: ImageFinder
  let memory: SafeMemory
  let scratch: Scratch
  /// The end of the stack's mapping; the largest number if the mappings are not known, and 0 if no readable mapping
  /// ends above the stack pointer.
  let end: UInt64
  /// The address of the lowest word of the stack that was not examined yet.
  var place: UInt64
  var frames = 0
  var modules = 0
  var isFull = false
  var recursion = FoldedRecursion()

  /// Follows the chain of frame pointers; scans the stack word by word below the first frame record, and where the
  /// chain breaks.
  fileprivate mutating func append() {
    appendFrames()
    endFolding()
    if frames >= StackLines.frameLimit { lines.hasMoreFrames = true }
  }

  private mutating func appendFrames() {
    add(context.instructionPointer, "+0x", at: nil)
    // If the crash was a call to an address without code, the return address is still where the call put it: in the
    // link register, or on x86_64 at the stack pointer.
    let isCall = !images.isCode(context.instructionPointer)
    #if arch(arm64)
      let caller = CodeAddress.of(context.linkRegister)
      if images.isCode(caller) { add(caller, isCall ? "+0x" : "?0x", at: nil) }
    #else
      if isCall, let caller = word(place), images.isCode(caller) {
        add(caller, "+0x", at: place)
        place &+= 8
      }
    #endif
    // The address of the next frame record; 0 if none is known.
    var pointer = context.framePointer
    var mark: StaticString = "+0x"
    if record(at: pointer) == nil { (pointer, mark) = (0, "~0x") }
    var saved: UInt64?
    var (isSearching, start, candidates) = (true, place, 0)
    while !isFull, frames < StackLines.frameLimit {
      if isSearching, pointer == 0 || place < pointer, place &- start < StackLines.searchedSize,
        candidates < StackLines.candidateLimit, place & 7 == 0, let value = word(place)
      {
        let target = CodeAddress.of(value)
        if images.isCode(target) {
          add(target, "?0x", at: place)
          candidates &+= 1
          var below = place &- 8
          while pointer == 0, below >= start, place &- below <= StackLines.savedSize {
            if let other = word(below), other > place, record(at: other) != nil {
              (pointer, saved) = (other, below)
            }
            below &-= 8
          }
        }
        place &+= 8
      } else if let found = record(at: pointer) {
        add(found.target, mark, at: pointer &+ 8, savedAt: saved)
        (saved, isSearching, place) = (nil, false, pointer &+ 16)
        // Bit 60 marks the record of a Swift async function, and is not a part of the address.
        pointer = found.next & ~(1 &<< 60)
      } else if !isSearching {
        (isSearching, start, pointer, mark) = (true, place, 0, "~0x")
      } else {
        return
      }
    }
  }

  /// Returns the frame record at an address; nil if the address is unaligned, unreadable or below `place`, or if no
  /// code address follows the saved frame pointer.
  private func record(at address: UInt64) -> (next: UInt64, target: UInt64)? {
    guard address & 7 == 0, address >= place, let next = word(address),
      let saved = word(address &+ 8)
    else { return nil }
    let target = CodeAddress.of(saved)
    return images.isCode(target) ? (next, target) : nil
  }

  @inline(never)
  private func word(_ address: UInt64) -> UInt64? { address < end ? memory.word(address) : nil }

  /// Adds an entry; adds none after an entry that did not fit.
  ///
  /// - Parameters:
  ///   - place: the location of the code address on the stack; nil if the code address is from a register.
  ///   - saved: the location on the stack of the saved frame pointer through which the scan found this entry's frame
  ///     record; nil for an entry that was found in another way.
  private mutating func add(
    _ address: UInt64, _ mark: StaticString, at place: UInt64?, savedAt saved: UInt64? = nil
  ) {
    guard !isFull else { return }
    // A candidate, which is marked with "?", may not be a frame, so it does not count as chained.
    let isChained = unsafe mark.utf8Start[0] != 0x3F && place != nil
    let isFolded = recursion.add(address, isChained: isChained)
    if !isFolded {
      endFolding()
      isFull = isFull || !appendFrame(address, mark, place, saved)
    }
    frames &+= 1
    if isFull { lines.hasMoreFrames = true }
  }

  /// Adds a line with the number of frames that were folded since the previous line.
  private mutating func endFolding() {
    guard recursion.count > 0, !isFull else { return }
    lines.begin("repeats ", decimal: recursion.count)
    lines.text.append(" ", decimal: Int64(recursion.period))
    isFull = !lines.end()
    recursion.count = 0
    recursion.isOver = true
  }

  private mutating func appendFrame(
    _ address: UInt64, _ mark: StaticString, _ place: UInt64?, _ saved: UInt64?
  ) -> Bool {
    // For a return address, the lookup uses the preceding address, because the call may be the last instruction of
    // the module's last function.
    let (index, image) = images.image(around: frames > 0 ? address &- 1 : address)
    var start: UInt64 = 0
    var path = scratch.bytes(count: 0)
    if let image { (start, path) = (image.start, images.path(of: index, image)) }
    // Scratch memory holds, after the room for one image, the start addresses of the modules that already have a
    // line.
    let starts = scratch.dropFirst(ModuleImage.scratchSize)
    var module = 0
    while module < modules, starts.word(module &* 8) != start { module &+= 1 }
    if let image, module == modules {
      guard appendModule(image, path) else { return false }
      starts.setWord(module &* 8, start)
      modules &+= 1
    }
    lines.begin("frame ", decimal: frames)
    if index >= 0 {
      lines.text.append(" ", decimal: Int64(module))
    } else {
      lines.text.append(" -")
    }
    lines.text.append(mark, hexadecimal: address &- start)
    if let place {
      lines.text.append("@0x", hexadecimal: place &- context.stackPointer)
    } else if frames > 0 {
      lines.text.append("@lr")
    }
    if let saved { lines.text.append("^0x", hexadecimal: saved &- context.stackPointer) }
    if path.count > 0 {
      lines.text.append(" ", escaping: path.fileName, limit: SummaryLines.nameLimit)
    }
    return lines.end()
  }

  /// Adds a line with a module's build ID and path; returns false if the line does not fit.
  private mutating func appendModule(_ image: ModuleImage, _ path: Bytes) -> Bool {
    lines.begin("module ", decimal: modules)
    let buildID = image.buildID()
    if buildID.count > 0 {
      lines.text.append(" ")
      lines.text.append(hexadecimal: buildID)
    } else {
      lines.text.append(" -")
    }
    lines.text.append(" ", escaping: path, limit: SummaryLines.pathLimit)
    return lines.end()
  }
}

/// Recognizes a recursion in which up to four functions call each other in turn.
///
/// Only the first recursion of a stack is folded: its first eight frames that repeat earlier ones are listed, and its
/// further frames are folded.
///
/// RUNS-DURING-CRASH.
private struct FoldedRecursion {
  /// The number of folded frames that no line shows yet.
  var count = 0
  /// The number of functions that call each other in turn; 0 if there is no recursion.
  private(set) var period = 0
  /// True after the summary's line about a recursion was written.
  ///
  /// Readers of the summary support only one such line, so later recursions are not folded.
  var isOver = false
  private var matches = 0
  /// The addresses of the four previous frames, newest first.
  private var last: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  /// Examines the next frame; returns true if the frame is folded.
  fileprivate mutating func add(_ address: UInt64, isChained: Bool) -> Bool {
    // The recursion has ended. Before this frame's line, the caller must write the line with the number of folded
    // frames.
    if count > 0, !isChained || address != previous(period) { return false }
    guard isChained, !isOver else {
      (period, matches, last) = (0, 0, (0, 0, 0, 0))
      return false
    }
    if period > 0, address == previous(period) {
      matches &+= 1
    } else {
      period = 1
      while period <= 4, address != previous(period) { period &+= 1 }
      if period > 4 { period = 0 }
      matches = period > 0 ? 1 : 0
    }
    last = (address, last.0, last.1, last.2)
    guard matches > 8 else { return false }
    count &+= 1
    return true
  }

  private func previous(_ distance: Int) -> UInt64 {
    distance == 1 ? last.0 : distance == 2 ? last.1 : distance == 3 ? last.2 : last.3
  }
}
