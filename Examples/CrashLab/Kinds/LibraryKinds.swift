internal import CCrashLab
internal import Glibc

// Ends that the C library decides on; all but the first say why.

extension CrashKind {
  static let libraryKinds: [CrashKind] = [
    CrashKind("abort", "calls abort") { crash_abort() },
    CrashKind("assert", "fails a C assertion") { crash_assert() },
    CrashKind("double-free", "frees a block twice") { crash_double_free() },
    CrashKind("stack-smash", "reports a destroyed stack canary") { crash_stack_smash() },
    CrashKind("cxx-exception", "throws a C++ exception that nobody catches") {
      crash_cxx_exception()
    },
    CrashKind("cxx-noexcept", "throws a class of two bases out of a noexcept function") {
      crash_cxx_noexcept()
    },
    CrashKind("pure-virtual", "calls a pure virtual C++ function") { crash_pure_virtual() },
  ]
}

@inline(never)
func crash_abort() {
  abort()
}
