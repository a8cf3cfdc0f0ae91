internal import CCrashLab

// Instructions that the processor refuses.

extension CrashKind {
  static var processorKinds: [CrashKind] {
    var kinds = [
      CrashKind("illegal-instruction", "runs an undefined instruction") {
        crash_illegal_instruction()
      },
      CrashKind("builtin-trap", "C's __builtin_trap") { crash_builtin_trap() },
      CrashKind("breakpoint", "runs a breakpoint without a debugger") { crash_breakpoint() },
    ]
    #if arch(x86_64)
      kinds.append(CrashKind("divide-by-zero", "divides by zero in C") { crash_divide_by_zero() })
    #endif
    return kinds
  }
}
