extension KnownCrash {
  // tgkill(2): SI_TKILL.
  static let library: [KnownCrash] = [
    KnownCrash(
      kind: "abort", summary: "calls abort", signal: 6, code: -6, address: .none,
      function: "crash_abort",
      explanation: "The process called abort()", isDebugged: true,
      causes: [Cause(kind: "abort", evidence: "SI_TKILL", isNamed: true)]),
    KnownCrash(
      kind: "assert", summary: "fails a C assertion", signal: 6, code: -6, address: .none,
      function: "crash_assert",
      message: "Assertion `crashes == 0' failed", explanation: "A C assertion failed",
      isDebugged: true,
      causes: [
        Cause(
          message: "crash_assert(void): Assertion `crashes == 0' failed.",
          kind: "c-assertion", evidence: "message of the C library")
      ]),
    KnownCrash(
      kind: "double-free", summary: "frees a block twice", signal: 6, code: -6, address: .none,
      function: "crash_double_free",
      message: "free(): double free detected in tcache 2",
      explanation: "glibc detected heap corruption", isDebugged: true,
      causes: [
        Cause(
          message: "free(): double free detected in tcache 2",
          kind: "heap-corruption", evidence: "message of the C library")
      ]),
    KnownCrash(
      kind: "stack-smash", summary: "reports a destroyed stack canary", signal: 6, code: -6,
      address: .none, function: "crash_stack_smash",
      message: "stack smashing detected", explanation: "glibc detected stack smashing",
      isDebugged: true,
      causes: [
        Cause(
          message: "*** stack smashing detected ***", kind: "stack-smashing",
          evidence: "message of the C library")
      ]),
    KnownCrash(
      kind: "cxx-exception", summary: "throws a C++ exception that nobody catches", signal: 6,
      code: -6, address: .none, function: "crash_cxx_exception",
      message: "type std::runtime_error: nobody catches this either",
      explanation: "std::runtime_error was most likely not caught", isDebugged: true,
      causes: [
        Cause(
          message: "Uncaught C++ exception of type std::runtime_error: nobody catches this either",
          kind: "cxx-exception", evidence: "std::terminate() is on the stack", isNamed: true)
      ]),
    KnownCrash(
      kind: "cxx-noexcept", summary: "throws a class of two bases out of a noexcept function",
      signal: 6, code: -6, address: .none, function: "crash_cxx_noexcept",
      message: "ImportError: line 3 has no comma", explanation: "was most likely not caught",
      causes: [
        Cause(
          message: "type (anonymous namespace)::ImportError: line 3 has no comma",
          kind: "cxx-exception", evidence: "std::terminate() is on the stack", isNamed: true)
      ]),
    KnownCrash(
      kind: "pure-virtual", summary: "calls a pure virtual C++ function", signal: 6, code: -6,
      address: .none, function: "crash_pure_virtual",
      explanation: "The process called abort()", isDebugged: true,
      causes: [Cause(kind: "pure-virtual-call", evidence: "pure", isNamed: true)]),
  ]
}
