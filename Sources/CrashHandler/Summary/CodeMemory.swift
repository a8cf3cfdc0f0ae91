internal import CSignalSafe

/// Code in memory, as far as walking a stack needs to know it.
///
/// RUNS-DURING-CRASH. Source: Intel SDM volume 2, CALL; Arm ARM, BL and BLR; Linux Standard Base
/// Core, 10.6.2 (Exception Frame Header).
@safe
struct CodeMemory {
  private let mappings: MappingTable
  private let memory: SafeMemory
  private let scratch: UnsafeMutableRawPointer

  /// - Parameter scratch: `ModuleImage.scratchSize` bytes.
  @_noLocks
  init(mappings: MappingTable, memory: SafeMemory, scratch: UnsafeMutableRawPointer) {
    self.mappings = mappings
    self.memory = memory
    unsafe self.scratch = scratch
  }

  @_noLocks
  func isExecutable(_ address: UInt64) -> Bool {
    let index = mappings.index(endingAbove: address)
    guard index < mappings.count else { return false }
    let mapping = mappings[index]
    return mapping.start <= address && mapping.has(Mapping.isExecutable)
  }

  /// The index of the mapping at which the module around an address begins; -1 if there is none.
  @_noLocks
  func module(around address: UInt64) -> Int {
    var index = mappings.index(endingAbove: address)
    guard index < mappings.count, mappings[index].start <= address,
      mappings[index].pathLength > 0
    else { return -1 }
    let last = mappings[index]
    // A linker makes four segments of a file, rarely more than eight.
    var steps = 0
    while index >= 0, steps < 64 {
      let mapping = mappings[index]
      // Between the segments of one file there may be mappings without a name.
      if isSamePath(mapping, last), mapping.has(Mapping.startsFile),
        unsafe ModuleImage(at: mapping.start, memory: memory, scratch: scratch) != nil
      {
        return index
      }
      index &-= 1
      steps &+= 1
    }
    return -1
  }

  @_noLocks
  private func isSamePath(_ one: Mapping, _ other: Mapping) -> Bool {
    let (first, second) = (mappings.path(of: one), mappings.path(of: other))
    guard first.count == second.count else { return false }
    var index = 0
    while index < first.count {
      if first[index] != second[index] { return false }
      index &+= 1
    }
    return true
  }

  /// Whether an address can be where a call returns to: executable, and behind a call instruction.
  @_noLocks
  func isBehindCall(_ address: UInt64) -> Bool {
    guard address > 8, isExecutable(address) else { return false }
    var code: UInt64 = 0
    guard unsafe memory.copy(address &- 8, to: &code, count: 8) == 8 else { return false }
    return CodeMemory.endsInCall(code)
  }

  /// Where the call in front of a return address goes; 0 if that is not in the instruction.
  ///
  /// What is called in another module is called through a stub of the linker, or through the slot
  /// that the stub reads: what matters is what stands in the slot.
  @_noLocks
  func callTarget(before address: UInt64) -> UInt64 {
    var code: UInt64 = 0
    guard unsafe memory.copy(address &- 8, to: &code, count: 8) == 8 else { return 0 }
    #if arch(arm64)
      let word = UInt32(truncatingIfNeeded: code &>> 32)
      guard word & 0xFC00_0000 == 0x9400_0000 else { return 0 }  // BL
      let words = Int64(Int32(bitPattern: word &<< 6) &>> 6)
      return behindStub(address &- 4 &+ UInt64(bitPattern: words &<< 2))
    #else
      let target = address &+ CodeMemory.extended(code &>> 32)
      if code &>> 16 & 0xFFFF == 0x15FF { return memory.word(target) ?? 0 }  // CALL *(RIP + n)
      return code &>> 24 & 0xFF == 0xE8 ? behindStub(target) : 0
    #endif
  }

  /// Where a stub of the procedure linkage table jumps to; the address itself if it is none.
  ///
  /// Source: System V ABI, AMD64 supplement, 5.2; ELF for the Arm 64-bit architecture, PLT.
  @_noLocks
  private func behindStub(_ address: UInt64) -> UInt64 {
    var start = address
    #if arch(arm64)
      guard var code = memory.word(start) else { return address }
      if code & 0xFFFF_FFFF == 0xD503_245F {  // BTI c
        start &+= 4
        code = memory.word(start) ?? 0
      }
      // ADRP X16, page; LDR X17, [X16, offset]
      guard code & 0x9F00_001F == 0x9000_0010, code &>> 32 & 0xFFC0_03FF == 0xF940_0211 else {
        return address
      }
      let pages = CodeMemory.extended((code &>> 5 & 0x7FFFF) &<< 13 | (code &>> 29 & 3) &<< 11)
      let page = (start & ~0xFFF) &+ (pages &<< 1)
      return memory.word(page &+ (code &>> 42 & 0xFFF) &* 8) ?? address
    #else
      guard var code = memory.word(start) else { return address }
      if code & 0xFFFF_FFFF == 0xFA1E_0FF3 {  // ENDBR64
        start &+= 4
        code = memory.word(start) ?? 0
      }
      if code & 0xFF == 0xF2 {  // BND
        start &+= 1
        code &>>= 8
      }
      guard code & 0xFFFF == 0x25FF else { return address }  // JMP *(RIP + n)
      return memory.word(start &+ 6 &+ CodeMemory.extended(code &>> 16)) ?? address
    #endif
  }

  /// The low 32 bits as a signed number.
  @_noLocks
  private static func extended(_ bits: UInt64) -> UInt64 {
    UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: bits)))
  }

  /// - Parameter code: the eight bytes before a return address, the first one lowest.
  @_noLocks
  static func endsInCall(_ code: UInt64) -> Bool {
    #if arch(arm64)
      let word = UInt32(truncatingIfNeeded: code &>> 32)
      return word & 0xFC00_0000 == 0x9400_0000  // BL
        || word & 0xFFFF_FC1F == 0xD63F_0000  // BLR
        || word & 0xFEFF_F800 == 0xD63F_0800  // BLRAA and its kin
    #else
      if code &>> 24 & 0xFF == 0xE8 { return true }
      // FF /2: the operand's form says how long the instruction is, and that must be where it lies.
      var length: UInt64 = 2
      while length <= 7 {
        let instruction = code &>> ((8 &- length) &* 8)
        if instruction & 0x38FF == 0x10FF, indirectCallLength(instruction) == length { return true }
        length &+= 1
      }
      return false
    #endif
  }

  #if !arch(arm64)
    /// Bytes of FF /2 with the operand that ModRM and SIB describe.
    @_noLocks
    private static func indirectCallLength(_ instruction: UInt64) -> UInt64 {
      let form = instruction &>> 14 & 3
      let base = instruction &>> 8 & 7
      let hasIndex = form != 3 && base == 4
      let length: UInt64 = hasIndex ? 3 : 2
      if form == 1 { return length &+ 1 }
      if form == 2 { return length &+ 4 }
      guard form == 0 else { return length }
      let isDisplacement = hasIndex ? instruction &>> 16 & 7 == 5 : base == 5
      return isDisplacement ? length &+ 4 : length
    }
  #endif

  // MARK: - Functions

  /// The start of the function around an address; 0 if the module does not tell.
  ///
  /// From the sorted table of `.eh_frame_hdr`, which every image that can be unwound has in memory.
  @_noLocks
  func functionStart(of address: UInt64) -> UInt64 {
    let index = module(around: address)
    guard index >= 0,
      let image = unsafe ModuleImage(at: mappings[index].start, memory: memory, scratch: scratch),
      let segment = image.segment(0x6474_E550, 0),  // PT_GNU_EH_FRAME
      let header = memory.word(segment.address),
      // Version 1; count udata4; table datarel|sdata4: what all linkers write.
      header & 0xFF == 1, header &>> 16 & 0xFFFF == 0x3B03,
      let word = memory.word(segment.address &+ 8)
    else { return 0 }
    var low: UInt64 = 0
    var high = word & 0xFFFF_FFFF
    guard segment.size >= 12, high <= (segment.size &- 12) / 8 else { return 0 }
    var start: UInt64 = 0
    while low < high {
      let middle = (low &+ high) &>> 1
      guard let entry = memory.word(segment.address &+ 12 &+ middle &* 8) else { return 0 }
      let distance = Int64(Int32(truncatingIfNeeded: entry))
      let candidate = segment.address &+ UInt64(bitPattern: distance)
      if candidate <= address {
        start = candidate
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return start
  }
}
