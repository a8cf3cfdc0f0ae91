internal import CSignalSafe

/// Where the crashing thread was, and who had called whom: addresses only, found in the crash
/// itself.
///
/// Follows frame records as far as functions keep them. Where one keeps none (libc, on the way from
/// `abort` to the program), the nearest word on the stack that points behind a call is taken for its
/// caller, and marked as guessed. The reports' own walk, on the dump, sees more: this one is for
/// crashes of which nothing else is left.
///
/// RUNS-DURING-CRASH.
@safe
struct FrameTrail {
  /// The most frames that are found.
  static var capacity: Int { @_noLocks get { 65 } }
  /// Bytes of room for them: address (8), 1 if guessed (8).
  static var byteCount: Int { @_noLocks get { 65 &* 16 } }
  /// Words looked at for one guess: 16 KiB, more than glibc's largest frame on the way to abort.
  private static var scanSize: Int { @_noLocks get { 16384 } }
  /// A stack that is guessed further than this is not worth its lines.
  private static var maximumGuesses: Int { @_noLocks get { 16 } }

  private let code: CodeMemory
  private let memory: SafeMemory
  private let place: UnsafeMutableRawPointer
  private let scratch: UnsafeMutableRawPointer
  private(set) var count = 0
  private var guesses = 0

  // The frame that the walk stands in.
  private var address: UInt64
  private var stackPointer: UInt64
  private var framePointer: UInt64
  /// The end of the stack's mapping.
  private let stackEnd: UInt64

  /// - Parameters:
  ///   - place: `byteCount` bytes.
  ///   - scratch: `scanSize` bytes, apart from those that `code` has.
  @_noLocks
  init(
    context: SignalContext, mappings: MappingTable, code: CodeMemory, memory: SafeMemory,
    place: UnsafeMutableRawPointer, scratch: UnsafeMutableRawPointer
  ) {
    self.code = code
    self.memory = memory
    unsafe self.place = place
    unsafe self.scratch = scratch
    address = context.instructionPointer
    stackPointer = context.stackPointer
    framePointer = context.framePointer
    // After an overflow the stack pointer lies in the guard page or right below the mapping.
    var index = mappings.index(endingAbove: stackPointer)
    while index < mappings.count, !mappings[index].has(Mapping.isReadable) { index &+= 1 }
    stackEnd = index < mappings.count ? mappings[index].end : 0
    #if arch(arm64)
      linkRegister = context.linkRegister
    #endif
  }

  #if arch(arm64)
    private let linkRegister: UInt64
  #endif

  @_noLocks
  func address(_ index: Int) -> UInt64 {
    unsafe place.loadUnaligned(fromByteOffset: index &* 16, as: UInt64.self)
  }

  @_noLocks
  func isGuessed(_ index: Int) -> Bool {
    unsafe place.loadUnaligned(fromByteOffset: index &* 16 &+ 8, as: UInt64.self) != 0
  }

  /// Finds the frames.
  @_noLocks
  mutating func walk() {
    add(address, isGuessed: false)
    if !stepFromInterrupted(), !stepToCaller() { return }
    while count < FrameTrail.capacity, stepToCaller() {}
  }

  @_noLocks
  private mutating func add(_ address: UInt64, isGuessed: Bool) {
    guard count < FrameTrail.capacity else { return }
    unsafe place.storeBytes(of: address, toByteOffset: count &* 16, as: UInt64.self)
    unsafe place.storeBytes(
      of: isGuessed ? 1 : 0, toByteOffset: count &* 16 &+ 8, as: UInt64.self)
    count &+= 1
  }

  /// From a thread that stands where there is no code (it called a null pointer), or in a
  /// function's first or last instructions: the caller has no record yet, or no longer.
  @_noLocks
  private mutating func stepFromInterrupted() -> Bool {
    let isCode = code.isExecutable(address)
    let setup = FrameRecordSetup(of: isCode ? address : 0, code: code, memory: memory)
    #if arch(arm64)
      guard !isCode || (setup.done != 0 && address <= setup.saved) || setup.isAbsent,
        code.isBehindCall(linkRegister)
      else { return false }
      // A leaf has its return address in the link register; what a call left there points into the
      // function itself.
      if isCode, code.functionStart(of: linkRegister &- 1) == setup.functionStart { return false }
      address = linkRegister
      add(address, isGuessed: setup.isAbsent)
      return true
    #else
      var slot = stackPointer
      if isCode {
        var instruction: UInt8 = 0
        let isReturn =
          unsafe memory.copy(address, to: &instruction, count: 1) == 1 && instruction == 0xC3
        guard isReturn || (setup.done != 0 && address < setup.done) else { return false }
        if !isReturn, address > setup.saved { slot &+= 8 }
      }
      guard let word = memory.word(slot), code.isBehindCall(word) else { return false }
      address = word
      stackPointer = slot &+ 8
      add(word, isGuessed: false)
      return true
    #endif
  }

  /// Goes to the caller; false at the end of what can be believed.
  @_noLocks
  private mutating func stepToCaller() -> Bool {
    // Inside the call, which may be the function's last instruction; exact for the first frame.
    let lookup = count > 1 ? address &- 1 : address
    let setup = FrameRecordSetup(of: lookup, code: code, memory: memory)
    if setup.isAbsent { return guess(setup.functionStart) }
    guard isRecord(framePointer, notBelow: stackPointer) else { return false }
    return follow()
  }

  /// A saved frame pointer and, behind it, where its function returns to.
  @_noLocks
  private func isRecord(_ address: UInt64, notBelow lowest: UInt64) -> Bool {
    guard address & 7 == 0, address >= lowest, address < stackEnd, stackEnd &- address >= 16,
      let target = memory.word(address &+ 8)
    else { return false }
    return code.isBehindCall(target)
  }

  @_noLocks
  private mutating func follow() -> Bool {
    guard let next = memory.word(framePointer), let target = memory.word(framePointer &+ 8) else {
      return false
    }
    stackPointer = framePointer &+ 16
    // Bit 60 marks the record of a Swift async function.
    framePointer = next & ~(1 &<< 60)
    address = target
    add(target, isGuessed: false)
    return true
  }

  /// Looks for the caller's return address on the stack.
  ///
  /// Not beyond the record that the frame pointer leads to: it belongs to a function further out.
  /// A word behind a call of just this function is preferred to a nearer one behind any other call.
  ///
  /// - Parameter functionStart: of the function that the walk stands in.
  @_noLocks
  private mutating func guess(_ functionStart: UInt64) -> Bool {
    guesses &+= 1
    guard guesses <= FrameTrail.maximumGuesses, stackPointer & 7 == 0, stackPointer < stackEnd
    else { return false }
    let hasRecord = isRecord(framePointer, notBelow: stackPointer)
    let end = hasRecord ? framePointer : stackEnd
    let room = end &- stackPointer
    let wanted =
      room < UInt64(FrameTrail.scanSize)
      ? Int(truncatingIfNeeded: room) : FrameTrail.scanSize
    let readable = unsafe memory.copy(stackPointer, to: scratch, count: wanted)
    var offset = 0
    var best = -1
    while offset &+ 8 <= readable {
      let word = unsafe scratch.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if best < 0 || code.isExecutable(word), code.isBehindCall(word) {
        if code.callTarget(before: word) == functionStart {
          best = offset
          break
        }
        if best < 0 { best = offset }
      }
      offset &+= 8
    }
    guard best >= 0 else { return hasRecord ? follow() : false }
    let slot = stackPointer &+ UInt64(truncatingIfNeeded: best)
    findRecord(above: slot)
    address = unsafe scratch.loadUnaligned(fromByteOffset: best, as: UInt64.self)
    stackPointer = slot &+ 8
    add(address, isGuessed: true)
    return true
  }

  /// The caller's frame pointer: the one at hand if the callee left that alone, else one that the
  /// callee saved right below the return address, among six registers and a word of padding.
  @_noLocks
  private mutating func findRecord(above slot: UInt64) {
    if isRecord(framePointer, notBelow: slot &+ 8) { return }
    var saved = slot
    var words = 0
    while words < 7, saved >= stackPointer &+ 8 {
      saved &-= 8
      words &+= 1
      if let candidate = memory.word(saved), isRecord(candidate, notBelow: slot &+ 8) {
        framePointer = candidate
        return
      }
    }
  }
}
