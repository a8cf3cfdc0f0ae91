internal import CCrashLab
internal import Glibc

// Crashes by abort(3). In all kinds except `abort`, the C or C++ library prints the reason first.

extension CrashKind {
  static let libraryKinds: [CrashKind] = [
    CrashKind("abort") { crash_abort() },
    CrashKind("assert") { crash_assert() },
    CrashKind("double-free") { crash_double_free() },
    CrashKind("stack-smash") { crash_stack_smash() },
    CrashKind("cxx-exception") { crash_cxx_exception() },
    CrashKind("cxx-noexcept") { crash_cxx_noexcept() },
    CrashKind("pure-virtual") { crash_pure_virtual() },
  ]
}

@inline(never)
func crash_abort() {
  abort()
}
