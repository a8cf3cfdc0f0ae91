internal import ProcessSnapshot

/// Whether and where a function makes its frame record, told from its first instructions.
enum FrameSetup: Equatable {
  /// Up to `saved` nothing is on the stack; up to `done` the caller's frame pointer is saved but
  /// not replaced.
  case present(saved: Address, done: Address)
  /// The function's start is known and makes none.
  case absent
  /// The function's start or its code is not known.
  case unknown

  /// Bytes of code to look at.
  static let codeSize = 48

  init(code: [UInt8], start: Address, architecture: ProcessSnapshot.Architecture) {
    switch architecture {
    case .x86_64: self = Self.x86(code, start: start)
    case .arm64: self = Self.arm64(code, start: start)
    }
  }

  /// `push rbp` followed soon by `mov rbp, rsp`, or `lea rbp, [rsp + n]` in an async function.
  private static func x86(_ code: [UInt8], start: Address) -> FrameSetup {
    // The push must come early: ENDBR64 and the async mark (BTS rbp, 60) may stand before it.
    guard let push = code.prefix(16).firstIndex(of: 0x55) else { return .absent }
    var index = push + 1
    while index + 3 <= code.count {
      if code[index...].starts(with: [0x48, 0x89, 0xE5]) {
        return .present(saved: start &+ UInt64(push), done: start &+ UInt64(index + 3))
      }
      if code[index...].starts(with: [0x48, 0x8D, 0x6C, 0x24]), index + 5 <= code.count {
        return .present(saved: start &+ UInt64(push), done: start &+ UInt64(index + 5))
      }
      index += 1
    }
    return .absent
  }

  /// `stp x29, x30, [sp, ...]`, then `mov x29, sp` or `add x29, sp, #n`.
  private static func arm64(_ code: [UInt8], start: Address) -> FrameSetup {
    var saved: Address?
    for index in stride(from: 0, to: code.count - 3, by: 4) {
      let word = code[index..<index + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      // STP of 64-bit registers with any addressing mode, Rt x29, Rt2 x30, base sp.
      if word & 0xFE40_7FFF == 0xA800_7BFD { saved = start &+ UInt64(index) }
      if let saved, word & 0xFF80_03FF == 0x9100_03FD {
        return .present(saved: saved, done: start &+ UInt64(index + 4))
      }
    }
    return .absent
  }
}
