extension KnownCrash {
  static let runtime: [KnownCrash] = [
    KnownCrash(
      kind: "fatal-error", summary: "calls fatalError", signal: 4, code: 2, address: .instruction,
      function: "crash_fatal_error", message: "crash-lab says goodbye",
      explanation: "The Swift runtime stopped the process", isDebugged: true,
      causes: [
        Cause(
          message: "Fatal error: crash-lab says goodbye",
          kind: "swift-fatal-error", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "precondition", summary: "fails a precondition", signal: 4, code: 2,
      address: .instruction,
      function: "crash_precondition",
      causes: [
        Cause(
          message: "Precondition failed: crash-lab wants a two",
          kind: "swift-precondition", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "unwrap-nil", summary: "force-unwraps nil", signal: 4, code: 2, address: .instruction,
      function: "crash_unwrap_nil",
      causes: [
        Cause(
          message: "Unexpectedly found nil", kind: "swift-unwrapped-nil",
          evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "index-out-of-range", summary: "reads past an array's end", signal: 4, code: 2,
      address: .instruction,
      function: "crash_index_out_of_range", isDebugged: true,
      causes: [
        Cause(
          message: "Index out of range",
          kind: "swift-index-out-of-range", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "integer-overflow", summary: "adds 1 to the greatest integer", signal: 4, code: 2,
      address: .instruction,
      function: "crash_integer_overflow", explanation: "Trap instruction",
      causes: [
        Cause(
          kind: "swift-integer-overflow", certainty: "inferred",
          evidence: "arithmetic overflow", isNamed: true)
      ]),
    KnownCrash(
      kind: "forced-cast", summary: "casts with as! to a type that it is not", signal: 6, code: -6,
      address: .none, function: "crash_forced_cast",
      message: "Could not cast value of type", explanation: "The Swift runtime",
      causes: [
        Cause(
          message: "Could not cast value of type 'Swift.String'",
          kind: "swift-failed-cast", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "unowned-after-free", summary: "reads an unowned reference to what is gone", signal: 6,
      code: -6, address: .none,
      function: "crash_unowned_after_free", message: "Attempted to read an unowned reference",
      explanation: "The Swift runtime",
      causes: [
        Cause(
          message: "Attempted to read an unowned reference",
          kind: "swift-unowned-after-free", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "exclusivity", summary: "modifies a variable while it is being modified", signal: 6,
      code: -6, address: .none, function: "crash_exclusivity",
      causes: [
        Cause(
          message: "Fatal access conflict detected.", kind: "swift-exclusivity",
          evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "try-bang", summary: "try! on a function that throws", signal: 4, code: 2,
      address: .instruction, function: "crash_try_bang",
      message: "'try!' expression unexpectedly raised an error",
      explanation: "The Swift runtime stopped the process",
      causes: [
        Cause(
          message: "nobody catches this", kind: "swift-uncaught-error",
          evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "uncaught-error", summary: "throws out of main", signal: 4, code: 2,
      address: .instruction, function: "CrashLab",
      message: "nobody catches this", explanation: "The Swift runtime stopped the process",
      places: [.main],
      causes: [
        Cause(
          message: "Error raised at top level", kind: "swift-uncaught-error",
          evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "main-actor", summary: "assumes the main actor elsewhere", signal: 4, code: 2,
      address: .instruction,
      function: "crash_main_actor", places: [.pthread, .dispatch, .task],
      causes: [
        Cause(
          kind: "swift-actor-isolation", certainty: "inferred",
          evidence: "_dispatch_assert_queue_fail", isNamed: true, place: .task)
      ]),
    KnownCrash(
      kind: "continuation", summary: "resumes a continuation twice", signal: 4, code: 2,
      address: .instruction, function: "continuation",
      message: "tried to resume its continuation more than once", places: [.task],
      isOnItsThread: false,
      causes: [
        Cause(
          message: "tried to resume its continuation more than once",
          kind: "swift-continuation", evidence: "message of the Swift runtime", place: .task)
      ]),
    KnownCrash(
      kind: "allocation-failure", summary: "allocates more than there is", signal: 6, code: -6,
      address: .none,
      function: "crash_allocation_failure", message: "failed to allocate",
      explanation: "An allocation failed.",
      causes: [
        Cause(
          message: "Fatal error: failed to allocate 70368744177664 bytes",
          kind: "out-of-memory", evidence: "message of the Swift runtime")
      ]),
    KnownCrash(
      kind: "await-chain", summary: "writes through null in a function that others await",
      signal: 11, code: 1, address: .exactly(0),
      function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced.", places: [.task],
      isOnItsThread: false,
      causes: [Cause(kind: "null-dereference", evidence: "write", place: .task)]),
  ]
}
