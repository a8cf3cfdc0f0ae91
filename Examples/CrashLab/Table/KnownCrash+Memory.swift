extension KnownCrash {
  static let memory: [KnownCrash] = [
    KnownCrash(
      kind: "null-read", summary: "reads through a null pointer", signal: 11, code: 1,
      address: .exactly(0), function: "crash_null_read",
      explanation: "A read of address 0: a null pointer was dereferenced.", isDebugged: true,
      causes: [Cause(kind: "null-dereference", evidence: "si_addr 0x0")]),
    KnownCrash(
      kind: "null-write", summary: "writes through a null pointer", signal: 11, code: 1,
      address: .exactly(0), function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced.",
      causes: [Cause(kind: "null-dereference", evidence: "write")]),
    KnownCrash(
      kind: "null-call", summary: "calls a null function pointer", signal: 11, code: 1,
      address: .exactly(0), function: "crash_null_call",
      explanation: "A call or jump through a null function pointer.", isDebugged: true,
      causes: [Cause(kind: "null-call", evidence: "execute")]),
    KnownCrash(
      kind: "wild-pointer", summary: "writes where nothing is mapped", signal: 11, code: 1,
      address: .exactly(0x1234_5678_9ab0),
      function: "crash_wild_pointer", explanation: "where nothing is mapped", isDebugged: true,
      causes: [Cause(kind: "unmapped-memory", evidence: "no mapping")]),
    // SI_KERNEL: the processor reports no fault address.
    KnownCrash(
      kind: "non-canonical", summary: "reads an address that cannot exist", signal: 11, code: 128,
      address: .none,
      function: "crash_non_canonical", explanation: "A general protection fault",
      causes: [
        Cause(
          kind: "general-protection", certainty: "likely",
          evidence: "rax 0xdeadbeefdeadbeef")
      ]),
    KnownCrash(
      kind: "execute-data", summary: "calls into a page of data", signal: 11, code: 2,
      address: .instruction,
      function: "crash_execute_data", explanation: "which is not executable", isDebugged: true,
      causes: [Cause(kind: "executed-data", evidence: "rw-")]),
    KnownCrash(
      kind: "write-to-code", summary: "writes into its own code", signal: 11, code: 2,
      address: .any,
      function: "crash_write_to_code", explanation: "which is not writable",
      causes: [Cause(kind: "protected-memory", evidence: "r-x")]),
    KnownCrash(
      kind: "freed-page", summary: "reads a page that was unmapped", signal: 11, code: 1,
      address: .any, function: "crash_freed_page",
      explanation: "A read of",
      causes: [Cause(kind: "unmapped-memory", evidence: "read")]),
    KnownCrash(
      kind: "prot-none", summary: "reads a page without any permission", signal: 11, code: 2,
      address: .any, function: "crash_prot_none",
      explanation: "which allows no access at all",
      causes: [Cause(kind: "protected-memory", evidence: "---")]),
    KnownCrash(
      kind: "truncated-file", summary: "reads a mapped file past its new end", signal: 7, code: 2,
      address: .any,
      function: "crash_truncated_file", explanation: "The file may have been truncated.",
      isDebugged: true,
      causes: [Cause(kind: "truncated-file", certainty: "likely", evidence: "BUS_ADRERR")]),
    KnownCrash(
      kind: "misaligned", summary: "reads a misaligned word under alignment checks", signal: 7,
      code: 1, address: .any, function: "crash_misaligned",
      explanation: "An access to a misaligned address",
      causes: [Cause(kind: "misaligned-access", evidence: "BUS_ADRALN")]),
  ]

  static let processor: [KnownCrash] = [
    KnownCrash(
      kind: "divide-by-zero", summary: "divides by zero in C", signal: 8, code: 1,
      address: .instruction,
      function: "crash_divide_by_zero", explanation: "An integer division by zero",
      isDebugged: true,
      causes: [Cause(kind: "division-by-zero", evidence: "FPE_INTDIV")]),
    KnownCrash(
      kind: "illegal-instruction", summary: "runs an undefined instruction", signal: 4, code: 2,
      address: .instruction,
      function: "crash_illegal_instruction", explanation: "Trap instruction", isDebugged: true,
      causes: [Cause(kind: "trap-instruction", evidence: "ud2")]),
    KnownCrash(
      kind: "builtin-trap", summary: "C's __builtin_trap", signal: 4, code: 2,
      address: .instruction,
      function: "crash_builtin_trap", explanation: "Trap instruction",
      causes: [Cause(kind: "trap-instruction", evidence: "ud2")]),
    // SI_KERNEL: no fault address.
    KnownCrash(
      kind: "breakpoint", summary: "runs a breakpoint without a debugger", signal: 5, code: 128,
      address: .none, function: "crash_breakpoint",
      explanation: "A breakpoint instruction was executed", isDebugged: true,
      causes: [Cause(kind: "breakpoint", evidence: "int3")]),
  ]

  static let stack: [KnownCrash] = [
    KnownCrash(
      kind: "stack-overflow", summary: "recurses without end", signal: 11, code: 1, address: .any,
      function: "crash_stack_overflow", explanation: "Stack overflow",
      overflowsStack: true,
      causes: [
        Cause(kind: "stack-overflow", evidence: "RLIMIT_STACK"),
        Cause(kind: "stack-overflow", evidence: "stack pointer", place: .pthread),
      ]),
    KnownCrash(
      kind: "huge-frame", summary: "calls a function whose frame no stack holds", signal: 11,
      code: 1, address: .any, function: "crash_huge_frame",
      explanation: "Stack overflow", overflowsStack: true,
      causes: [Cause(kind: "stack-overflow", evidence: "RLIMIT_STACK")]),
    KnownCrash(
      kind: "alloca", summary: "allocates on the stack without end", signal: 11, code: 1,
      address: .any, function: "crash_alloca",
      explanation: "Stack overflow", overflowsStack: true,
      causes: [Cause(kind: "stack-overflow", evidence: "RLIMIT_STACK")]),
    // SI_KERNEL: the kernel could not write the signal's frame, so there is no fault address.
    KnownCrash(
      kind: "full-stack-signal", summary: "gets a signal when its stack is full", signal: 11,
      code: 128, address: .none, function: "crash_full_stack_signal",
      explanation: "Stack overflow", overflowsStack: true,
      causes: [Cause(kind: "stack-overflow", evidence: "stack pointer")]),
    KnownCrash(
      kind: "deep", summary: "writes through a null pointer 1,000 frames down", signal: 11, code: 1,
      address: .exactly(0), function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced.", isDebugged: true,
      causes: [Cause(kind: "null-dereference", evidence: "write")]),
  ]
}
