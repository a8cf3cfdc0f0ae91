internal import CCrashLab

// Stack overflows, and a crash on a deep stack.

extension CrashKind {
  static let stackKinds: [CrashKind] = [
    CrashKind("stack-overflow") { print(crash_stack_overflow(1)) },
    CrashKind("huge-frame") { crash_huge_frame() },
    CrashKind("alloca") { crash_alloca() },
    CrashKind("full-stack-signal") { crash_full_stack_signal() },
    CrashKind("deep") { crash_deep(1000) },
  ]
}

@inline(never) @_optimize(none)
func crash_stack_overflow(_ depth: Int) -> Int {
  // The addition after the call keeps the compiler from turning the recursion into a loop. The stack overflows long
  // before the depth is Int.max.
  depth == Int.max ? depth : crash_stack_overflow(depth &+ 1) &+ depth
}

@inline(never) @_optimize(none)
func crash_deep(_ frames: Int) {
  if frames == 0 { crash_null_write() } else { crash_deep(frames - 1) }
  stayOnTheStack()
}
