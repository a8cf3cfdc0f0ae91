internal import CSignalSafe

extension SummaryLines {
  /// - Parameters:
  ///   - memory: through its cache, since words of the stack are read one by one.
  ///   - scratch: overwritten.
  @_noLocks
  mutating func appendStack(
    _ context: SignalContext, mappings: MappingTable, images: ImageFinder, memory: SafeMemory,
    scratch: Scratch
  ) {
    // After an overflow the stack pointer lies in the guard page or right below the mapping.
    let index = mappings.readable(endingAbove: context.stackPointer)
    let end = index < mappings.count ? mappings[index].end : mappings.count > 0 ? 0 : .max
    var stack = StackLines(
      lines: self, context: context, images: images, memory: memory, scratch: scratch, end: end,
      place: context.stackPointer)
    stack.append()
    self = stack.lines
  }
}

/// The crashing thread's stack as lines: the chain of frame pointers, and candidates where it breaks.
///
/// A function without a frame pointer (libc, on the way from `abort` to the program) has its caller
/// in some word of its stack that points into code. Each such word up to the next frame record is a
/// candidate; `postmortem symbolicate` finds the caller among them by its place and unwind tables.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
@safe
private struct StackLines {
  private static var candidateLimit: Int { 24 }
  /// Bytes that are searched for candidates: more than glibc's largest frame on the way to abort.
  private static var searchedSize: UInt64 { 16384 }
  /// Bytes below a return address where its function saves registers.
  private static var savedSize: UInt64 { 48 }

  var lines: SummaryLines
  let context: SignalContext
  let images: ImageFinder
  let memory: SafeMemory
  let scratch: Scratch
  /// The end of the stack's mapping, if it is known.
  let end: UInt64
  /// The lowest word of the stack that no entry was found in yet.
  var place: UInt64
  var frames = 0
  var modules = 0
  var isFull = false

  /// Follows the chain; where it breaks, and below its first record, goes up word by word.
  fileprivate mutating func append() {
    add(context.instructionPointer, "+0x", at: nil)
    // A call of an address without code leaves its caller where every call does.
    let isCall = !images.isCode(context.instructionPointer)
    #if arch(arm64)
      if images.isCode(context.linkRegister) {
        add(context.linkRegister, isCall ? "+0x" : "?0x", at: nil)
      }
    #else
      if isCall, let caller = word(place), images.isCode(caller) {
        add(caller, "+0x", at: place)
        place &+= 8
      }
    #endif
    // Leads to the next record; 0 while none is known.
    var pointer = context.framePointer
    var mark: StaticString = "+0x"
    if record(at: pointer) == nil { (pointer, mark) = (0, "~0x") }
    var saved: UInt64?
    var (isSearching, start, candidates) = (true, place, 0)
    while !isFull {
      if isSearching, pointer == 0 || place < pointer, place &- start < StackLines.searchedSize,
        candidates < StackLines.candidateLimit, place & 7 == 0, let value = word(place)
      {
        if images.isCode(value) {
          add(value, "?0x", at: place)
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
        // Bit 60 marks the record of a Swift async function.
        pointer = found.next & ~(1 &<< 60)
      } else if !isSearching {
        (isSearching, start, pointer, mark) = (true, place, 0, "~0x")
      } else {
        return
      }
    }
  }

  /// A saved frame pointer with an address of code behind it, not below `place`.
  private func record(at address: UInt64) -> (next: UInt64, target: UInt64)? {
    guard address & 7 == 0, address >= place, let next = word(address),
      let target = word(address &+ 8), images.isCode(target)
    else { return nil }
    return (next, target)
  }

  @inline(never)
  private func word(_ address: UInt64) -> UInt64? { address < end ? memory.word(address) : nil }

  /// Adds an entry; none from the first on that does not fit.
  ///
  /// - Parameters:
  ///   - place: of the address on the stack; nil for one in a register.
  ///   - saved: the place of the frame pointer that led there from a candidate.
  private mutating func add(
    _ address: UInt64, _ mark: StaticString, at place: UInt64?, savedAt saved: UInt64? = nil
  ) {
    guard !isFull else { return }
    isFull = !appendFrame(address, mark, place, saved)
    frames &+= 1
    if isFull { lines.hasMoreFrames = true }
  }

  private mutating func appendFrame(
    _ address: UInt64, _ mark: StaticString, _ place: UInt64?, _ saved: UInt64?
  ) -> Bool {
    // A call may be its function's last instruction, and the function the module's last.
    let (index, image) = images.image(around: frames > 0 ? address &- 1 : address)
    var start: UInt64 = 0
    var path = scratch.bytes(count: 0)
    if let image { (start, path) = (image.start, images.path(of: index, image)) }
    // The starts of those that were named lie behind the memory for an image.
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

  /// Names a module; false if there is no more room.
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
