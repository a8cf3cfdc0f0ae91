/// The registers of an x86_64 thread.
///
/// Source: System V ABI AMD64 supplement, 3.2.1; Linux `struct sigcontext_64`; Intel SDM volume 1,
/// 10.5 (FXSAVE area).
public struct X86_64Context: Sendable, Equatable {
  public var rax: UInt64 = 0
  public var rbx: UInt64 = 0
  public var rcx: UInt64 = 0
  public var rdx: UInt64 = 0
  public var rsi: UInt64 = 0
  public var rdi: UInt64 = 0
  public var rbp: UInt64 = 0
  public var rsp: UInt64 = 0
  public var r8: UInt64 = 0
  public var r9: UInt64 = 0
  public var r10: UInt64 = 0
  public var r11: UInt64 = 0
  public var r12: UInt64 = 0
  public var r13: UInt64 = 0
  public var r14: UInt64 = 0
  public var r15: UInt64 = 0
  public var rip: UInt64 = 0
  public var rflags: UInt64 = 0
  public var cs: UInt16 = 0
  public var fs: UInt16 = 0
  public var gs: UInt16 = 0
  public var ss: UInt16 = 0
  /// The XSAVE area as the kernel put it on the signal frame, whose first 512 bytes are the FXSAVE
  /// area; empty if it was not captured.
  ///
  /// A minidump's reader gives the 512 bytes only.
  public var floatingPointState: [UInt8] = []

  public init() {}

  var generalRegisters: [(name: String, value: UInt64)] {
    [
      ("rax", rax), ("rbx", rbx), ("rcx", rcx), ("rdx", rdx), ("rsi", rsi), ("rdi", rdi),
      ("rbp", rbp), ("rsp", rsp), ("r8", r8), ("r9", r9), ("r10", r10), ("r11", r11),
      ("r12", r12), ("r13", r13), ("r14", r14), ("r15", r15), ("rip", rip), ("rflags", rflags),
    ]
  }
}
