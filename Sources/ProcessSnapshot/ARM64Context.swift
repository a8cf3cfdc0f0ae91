/// The registers of an arm64 thread.
///
/// Source: AAPCS64, 6.1; Linux `struct sigcontext` and `struct fpsimd_context` of arch/arm64.
public struct ARM64Context: Sendable, Equatable {
  /// x0 to x30; always 31 values.
  public var x: [UInt64] = Array(repeating: 0, count: 31)
  public var sp: UInt64 = 0
  public var pc: UInt64 = 0
  public var pstate: UInt64 = 0
  /// v0 to v31, 16 little-endian bytes each, 512 in all; empty if they were not captured.
  public var vectorRegisters: [UInt8] = []
  public var fpsr: UInt32 = 0
  public var fpcr: UInt32 = 0

  public init() {}

  var generalRegisters: [(name: String, value: UInt64)] {
    x.enumerated().map { ("x\($0.offset)", $0.element) }
      + [("sp", sp), ("pc", pc), ("cpsr", pstate)]
  }
}
