internal import CSignalSafe

/// The crashing thread's frames, as far as frame pointers lead: addresses only, found in the crash.
///
/// A function without a frame pointer (libc, on the way from `abort` to the program) has its caller
/// in some word of its stack that points into code. Each such word up to the next frame record is a
/// candidate; `postmortem symbolicate` finds the caller among them by its place and the unwind tables
/// of the modules. A report's stack is another walk, on the dump.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
@safe
struct FrameChain {
  /// The evidence for an entry.
  enum Evidence {
    // Numbers, which are stored.
    /// It is the crash itself, or the frame pointer led there.
    static var framePointer: UInt64 { @_noLocks get { 0 } }
    /// A frame pointer led there that a function seems to have saved.
    static var savedPointer: UInt64 { @_noLocks get { 1 } }
    /// It is a word that points into code.
    static var candidate: UInt64 { @_noLocks get { 2 } }
  }

  /// The most entries that are found.
  static var capacity: Int { @_noLocks get { 65 } }
  /// Bytes of room for them: address (8), place (8), evidence (8), place of the saved pointer (8).
  static var byteCount: Int { @_noLocks get { 65 &* 32 } }
  /// Bytes of stack among which candidates are looked for: glibc's largest frame on the way to abort
  /// is smaller.
  private static var scanSize: Int { @_noLocks get { 16384 } }
  private static var maximumCandidates: Int { @_noLocks get { 24 } }
  /// Words below a return address where its function saves registers.
  private static var savedWords: Int { @_noLocks get { 6 } }

  // In place of an offset: for an entry in a register, and for a pointer that nobody saved.
  static var register: UInt64 { @_noLocks get { UInt64.max } }
  static var linkRegister: UInt64 { @_noLocks get { UInt64.max &- 1 } }
  static var none: UInt64 { @_noLocks get { UInt64.max } }

  private let context: SignalContext
  private let mappings: MappingTable
  private let memory: SafeMemory
  private let entries: Scratch
  private let scratch: Scratch
  /// The end of the stack's mapping.
  private let stackEnd: UInt64
  private(set) var count = 0
  private var candidates = 0

  /// - Parameters:
  ///   - entries: `byteCount` bytes.
  ///   - scratch: overwritten.
  @_noLocks
  init(
    context: SignalContext, mappings: MappingTable, memory: SafeMemory, entries: Scratch,
    scratch: Scratch
  ) {
    self.context = context
    self.mappings = mappings
    self.memory = memory
    self.entries = entries
    self.scratch = scratch
    // After an overflow the stack pointer lies in the guard page or right below the mapping.
    let index = mappings.readable(endingAbove: context.stackPointer)
    stackEnd = index < mappings.count ? mappings[index].end : 0
  }

  @_noLocks
  func address(_ index: Int) -> UInt64 { entries.word(index &* 32) }

  /// Bytes from the stack pointer to where the entry lies; `register`, or `linkRegister`.
  @_noLocks
  func place(_ index: Int) -> UInt64 { entries.word(index &* 32 &+ 8) }

  @_noLocks
  func evidence(_ index: Int) -> UInt64 { entries.word(index &* 32 &+ 16) }

  /// Bytes from the stack pointer to the saved frame pointer that led there; `none` if none did.
  @_noLocks
  func savedPointer(_ index: Int) -> UInt64 { entries.word(index &* 32 &+ 24) }

  /// Finds the entries.
  @_noLocks
  mutating func walk() {
    var lowest = context.stackPointer
    add(context.instructionPointer, FrameChain.register, Evidence.framePointer)
    // A call of an address without code leaves its caller where every call does.
    let isCall = !mappings.isExecutable(context.instructionPointer)
    #if arch(arm64)
      let caller = context.linkRegister
      if mappings.isExecutable(caller) {
        add(
          caller, FrameChain.linkRegister, isCall ? Evidence.framePointer : Evidence.candidate)
      }
    #else
      if isCall, let caller = memory.word(lowest), mappings.isExecutable(caller) {
        add(caller, 0, Evidence.framePointer)
        lowest &+= 8
      }
    #endif
    var record = context.framePointer
    var evidence = Evidence.framePointer
    while count < FrameChain.capacity {
      var saved = FrameChain.none
      if !isRecord(record, notBelow: lowest) {
        evidence = Evidence.savedPointer
        record = 0
      }
      addCandidates(from: lowest, to: &record, savedAt: &saved)
      guard isRecord(record, notBelow: lowest) else { return }
      while count < FrameChain.capacity, isRecord(record, notBelow: lowest),
        let next = memory.word(record), let target = memory.word(record &+ 8)
      {
        add(target, record &+ 8 &- context.stackPointer, evidence, saved)
        saved = FrameChain.none
        lowest = record &+ 16
        // Bit 60 marks the record of a Swift async function.
        record = next & ~(1 &<< 60)
      }
    }
  }

  @_noLocks
  private mutating func add(
    _ address: UInt64, _ place: UInt64, _ evidence: UInt64, _ saved: UInt64 = FrameChain.none
  ) {
    guard count < FrameChain.capacity else { return }
    entries.setWord(count &* 32, address)
    entries.setWord(count &* 32 &+ 8, place)
    entries.setWord(count &* 32 &+ 16, evidence)
    entries.setWord(count &* 32 &+ 24, saved)
    count &+= 1
  }

  /// True for a saved frame pointer with an address of code behind it.
  @_noLocks
  private func isRecord(_ address: UInt64, notBelow lowest: UInt64) -> Bool {
    guard address & 7 == 0, address >= lowest, address < stackEnd, stackEnd &- address >= 16,
      let target = memory.word(address &+ 8)
    else { return false }
    return mappings.isExecutable(target)
  }

  /// Adds the candidates below a record; below the first one that a function has saved a pointer to,
  /// where the record is 0.
  @_noLocks
  private mutating func addCandidates(
    from lowest: UInt64, to record: inout UInt64, savedAt saved: inout UInt64
  ) {
    guard lowest & 7 == 0, lowest < stackEnd else { return }
    let room = (record != 0 ? record : stackEnd) &- lowest
    let size = FrameChain.scanSize < scratch.size ? FrameChain.scanSize : scratch.size
    let wanted = room < UInt64(size) ? Int(truncatingIfNeeded: room) : size
    let readable = memory.copy(lowest, to: scratch, count: wanted)
    let base = lowest &- context.stackPointer
    var offset = 0
    while offset &+ 8 <= readable, candidates < FrameChain.maximumCandidates {
      let place = lowest &+ UInt64(truncatingIfNeeded: offset)
      if record != 0, place >= record { return }
      let word = scratch.word(offset)
      if mappings.isExecutable(word) {
        add(word, place &- context.stackPointer, Evidence.candidate)
        candidates &+= 1
        if record == 0 {
          let found = offsetOfSavedPointer(below: offset, from: lowest)
          if found >= 0 {
            record = scratch.word(found)
            saved = base &+ UInt64(truncatingIfNeeded: found)
          }
        }
      }
      offset &+= 8
    }
  }

  /// The nearest word below a return address that points to a record above it; negative for none.
  @_noLocks
  private func offsetOfSavedPointer(below offset: Int, from lowest: UInt64) -> Int {
    let above = lowest &+ UInt64(truncatingIfNeeded: offset &+ 8)
    var words = 1
    while words <= FrameChain.savedWords, words &* 8 <= offset {
      if isRecord(scratch.word(offset &- words &* 8), notBelow: above) {
        return offset &- words &* 8
      }
      words &+= 1
    }
    return -1
  }
}
