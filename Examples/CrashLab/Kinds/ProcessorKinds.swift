internal import CCrashLab

// Instructions that raise an exception of the processor.

extension CrashKind {
  static var processorKinds: [CrashKind] {
    var kinds = [
      CrashKind("illegal-instruction") { crash_illegal_instruction() },
      CrashKind("builtin-trap") { crash_builtin_trap() },
      CrashKind("breakpoint") { crash_breakpoint() },
    ]
    #if arch(x86_64)
      kinds.append(CrashKind("divide-by-zero") { crash_divide_by_zero() })
    #endif
    return kinds
  }
}
