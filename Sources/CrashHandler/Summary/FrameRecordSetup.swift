internal import CSignalSafe

/// Whether a function makes a frame record, and where, told from its first instructions.
///
/// RUNS-DURING-CRASH. Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
struct FrameRecordSetup {
  /// 0 if it is not known.
  let functionStart: UInt64
  /// The instruction that saves the caller's frame pointer, and the one behind that which replaces
  /// it; 0 for a function that makes no record.
  let saved: UInt64
  let done: UInt64

  var isAbsent: Bool { @_noLocks get { functionStart != 0 && done == 0 } }

  /// Bytes of code to look at.
  private static var codeSize: Int { @_noLocks get { 48 } }

  @_noLocks
  init(of address: UInt64, code: CodeMemory, memory: SafeMemory) {
    let start = code.functionStart(of: address)
    functionStart = start
    var saved: UInt64 = 0
    var done: UInt64 = 0
    var offset = 0
    // Eight bytes at a time, each from memory: the last ones may lie behind the mapping's end.
    while start != 0, done == 0, offset < FrameRecordSetup.codeSize,
      let word = memory.word(start &+ UInt64(truncatingIfNeeded: offset))
    {
      let place = start &+ UInt64(truncatingIfNeeded: offset)
      #if arch(arm64)
        let instruction = UInt32(truncatingIfNeeded: word)
        // STP of 64-bit registers with any addressing mode, Rt x29, Rt2 x30, base sp; then
        // MOV or ADD x29, sp.
        if instruction & 0xFE40_7FFF == 0xA800_7BFD { saved = place }
        if saved != 0, instruction & 0xFF80_03FF == 0x9100_03FD { done = place &+ 4 }
        offset &+= 4
      #else
        // PUSH rbp comes early: ENDBR64 and the async mark (BTS rbp, 60) may stand before it. Then
        // MOV rbp, rsp, or LEA rbp, [rsp + n] in an async function.
        if saved == 0 {
          if word & 0xFF == 0x55 { saved = place }
          if offset >= 16 { break }
        } else if word & 0xFF_FFFF == 0xE5_8948 {
          done = place &+ 3
        } else if word & 0xFFFF_FFFF == 0x246C_8D48 {
          done = place &+ 5
        }
        offset &+= 1
      #endif
    }
    self.saved = saved
    self.done = done
  }
}
