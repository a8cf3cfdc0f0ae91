internal import CSignalSafe

/// The crashing thread's frames, as far as frame pointers lead: addresses only, found in the crash.
///
/// Where a function keeps no frame pointer (libc, on the way from `abort` to the program), its caller
/// is some word of its stack that points into code. Each such word up to the next frame record is a
/// candidate; `postmortem symbolicate` finds the caller among them by its place and the unwind tables
/// of the modules. A report's stack is another walk, on the dump.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
@safe
struct FrameChain {
  /// The most entries that are found.
  static var capacity: Int { @_noLocks get { 65 } }
  /// Bytes of room for them: address (8), place (8).
  static var byteCount: Int { @_noLocks get { 65 &* 16 } }
  /// Bytes of stack among which candidates are looked for: glibc's largest frame on the way to abort
  /// is smaller.
  private static var scanSize: Int { @_noLocks get { 16384 } }
  private static var maximumCandidates: Int { @_noLocks get { 24 } }
  /// Words between a saved frame pointer and the return address: six registers and padding.
  private static var savedWords: Int { @_noLocks get { 7 } }

  /// The lowest bit of a candidate's place.
  private static var candidate: UInt64 { @_noLocks get { 1 } }
  // What stands for the place of an entry that lies in none.
  static var register: UInt64 { @_noLocks get { UInt64.max & ~7 } }
  static var linkRegister: UInt64 { @_noLocks get { UInt64.max & ~15 } }

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
    var index = mappings.index(endingAbove: context.stackPointer)
    while index < mappings.count, !mappings[index].has(Mapping.isReadable) { index &+= 1 }
    stackEnd = index < mappings.count ? mappings[index].end : 0
  }

  @_noLocks
  func address(_ index: Int) -> UInt64 { entries.word(index &* 16) }

  /// Bytes from the stack pointer to where the entry lies; `register`, or `linkRegister`.
  @_noLocks
  func place(_ index: Int) -> UInt64 {
    entries.word(index &* 16 &+ 8) & ~FrameChain.candidate
  }

  @_noLocks
  func isCandidate(_ index: Int) -> Bool {
    entries.word(index &* 16 &+ 8) & FrameChain.candidate != 0
  }

  /// Finds the entries.
  @_noLocks
  mutating func walk() {
    var lowest = context.stackPointer
    add(context.instructionPointer, FrameChain.register)
    // A call of an address without code leaves its caller where every call does.
    let isCall = !mappings.isExecutable(context.instructionPointer)
    #if arch(arm64)
      let caller = context.linkRegister
      if mappings.isExecutable(caller) {
        add(caller, isCall ? FrameChain.linkRegister : FrameChain.linkRegister | 1)
      }
    #else
      if isCall, let caller = memory.word(lowest), mappings.isExecutable(caller) {
        add(caller, 0)
        lowest &+= 8
      }
    #endif
    var record = context.framePointer
    while count < FrameChain.capacity {
      record = scan(from: lowest, toRecord: record)
      guard isRecord(record, notBelow: lowest) else { return }
      while count < FrameChain.capacity, isRecord(record, notBelow: lowest),
        let next = memory.word(record), let target = memory.word(record &+ 8)
      {
        add(target, record &+ 8 &- context.stackPointer)
        lowest = record &+ 16
        // Bit 60 marks the record of a Swift async function.
        record = next & ~(1 &<< 60)
      }
    }
  }

  @_noLocks
  private mutating func add(_ address: UInt64, _ place: UInt64) {
    guard count < FrameChain.capacity else { return }
    entries.setWord(count &* 16, address)
    entries.setWord(count &* 16 &+ 8, place)
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

  /// Adds the candidates below the next record; returns where that is.
  ///
  /// A function that uses the frame pointer for something else has saved its caller's: the record
  /// that a word leads to is taken for the next where a return address lies near above the word.
  @_noLocks
  private mutating func scan(from lowest: UInt64, toRecord known: UInt64) -> UInt64 {
    guard lowest & 7 == 0, lowest < stackEnd else { return known }
    var record = isRecord(known, notBelow: lowest) ? known : 0
    let room = (record != 0 ? record : stackEnd) &- lowest
    let size = FrameChain.scanSize < scratch.size ? FrameChain.scanSize : scratch.size
    let wanted = room < UInt64(size) ? Int(truncatingIfNeeded: room) : size
    let readable = memory.copy(lowest, to: scratch, count: wanted)
    var offset = 0
    while offset &+ 8 <= readable, candidates < FrameChain.maximumCandidates {
      let place = lowest &+ UInt64(truncatingIfNeeded: offset)
      if record != 0, place >= record { break }
      let word = scratch.word(offset)
      if mappings.isExecutable(word) {
        add(word, (place &- context.stackPointer) | FrameChain.candidate)
        candidates &+= 1
      } else if record == 0, isRecord(word, notBelow: place &+ 8), isSaved(at: offset) {
        record = word
      }
      offset &+= 8
    }
    return record
  }

  /// True if a return address lies near above a place in the scratch memory.
  @_noLocks
  private func isSaved(at offset: Int) -> Bool {
    var words = 1
    while words <= FrameChain.savedWords {
      if mappings.isExecutable(scratch.word(offset &+ words &* 8)) { return true }
      words &+= 1
    }
    return false
  }
}
