internal import ProcessSnapshot
internal import Stackwalk

/// Explains an abort() of the process itself.
struct AbortFinding {
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]

  /// How the C library's messages begin, by what they mean.
  ///
  /// Source: glibc malloc/malloc.c (malloc_printerr), assert/assert.c, debug/.
  private static let heapMessages = [
    "double free", "corrupted", "free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ",
    "malloc_consolidate(): ", "calloc(): ", "memory clobbered",
  ]

  var finding: Finding {
    let sent = "signal SIGABRT, SI_TKILL from the process itself"
    if let message = snapshot.exception?.fatalMessage?.trimmed, !message.isEmpty {
      let kind = SwiftFailure.kind(of: message)
      let head = kind == "out-of-memory" ? "An allocation failed. " : ""
      return Finding(
        kind: kind,
        text: head + "The Swift runtime stopped the process: it left a message and called abort().",
        evidence: [sent, "message of the Swift runtime: \(message)"])
    }
    if let message = snapshot.exception?.abortMessage?.trimmed, !message.isEmpty {
      return libraryFinding(message, [sent, "message of the C library: \(message)"])
    }
    if let exception = exceptionFinding(sent) { return exception }
    if hasFrame("__cxa_pure_virtual") {
      return Finding(
        kind: "pure-virtual-call",
        text: "A pure virtual C++ function was called: on an object under construction or"
          + " destruction, or one that is gone.",
        evidence: [sent, "__cxa_pure_virtual is on the stack"])
    }
    if hasTerminate {
      return Finding(
        kind: "cxx-terminate",
        text: "std::terminate() ended the process, and no C++ exception had been caught: a"
          + " std::thread that still ran was destroyed, say, or nothing was there to throw again.",
        evidence: [sent, "std::terminate() is on the stack"])
    }
    return Finding(
      kind: "abort", text: "The process ended itself with SIGABRT, as abort() does.",
      evidence: [sent])
  }

  private func libraryFinding(_ message: String, _ evidence: [String]) -> Finding {
    let head =
      "The C library or a failed assertion ended the process: it left a message and called abort()."
    if message.contains("Assertion `") || message.contains("Assertion '") {
      return Finding(kind: "c-assertion", text: head, evidence: evidence)
    }
    if message.contains("stack smashing detected") {
      return Finding(
        kind: "stack-smashing",
        text: head + " A function found, before it returned, that the guard value above its"
          + " variables had been overwritten: one of them was written past its end.",
        evidence: evidence)
    }
    if message.contains("buffer overflow detected") {
      return Finding(
        kind: "buffer-overflow",
        text: head + " A copy would have written past the end of its destination.",
        evidence: evidence)
    }
    if Self.heapMessages.contains(where: message.contains) {
      return Finding(
        kind: "heap-corruption",
        text: head + " The memory allocator found its heap damaged, or was given a pointer that it"
          + " did not give out. Where that was found is not always where it was done.",
        evidence: evidence)
    }
    return Finding(kind: "library-abort", text: head, evidence: evidence)
  }

  private func exceptionFinding(_ sent: String) -> Finding? {
    guard let exception = snapshot.cxxException, let type = exception.typeName else { return nil }
    let name = Demangler.cxxTypeName(type)
    let fact = "the thread's last caught C++ exception is of type \(name)"
    // Without names on the stack nothing tells it from an abort() in a catch block.
    guard isUncaught else {
      return hasNames
        ? Finding(
          kind: "abort",
          text: "The process ended itself with SIGABRT, as abort() does, while it handled a C++"
            + " exception of type \(name).", evidence: [sent, fact])
        : Finding(
          kind: "cxx-exception", certainty: .likely,
          text: "A C++ exception of type \(name) was most likely not caught.",
          evidence: [sent, fact])
    }
    let isMemory = name == "std::bad_alloc"
    return Finding(
      kind: isMemory ? "out-of-memory" : "cxx-exception",
      text: isMemory
        ? "An allocation failed: the C++ exception std::bad_alloc was not caught."
        : "A C++ exception of type \(name) was not caught.",
      evidence: [sent, fact, "std::terminate() is on the stack"])
  }

  /// The uncaught exception's type and text; nil where there is none.
  var exceptionMessage: String? {
    guard let exception = snapshot.cxxException, let type = exception.typeName,
      snapshot.exception?.wasSent == true, snapshot.isOwnProcess(snapshot.exception?.sender),
      isUncaught || !hasNames
    else { return nil }
    let text = exception.message?.trimmed ?? ""
    return "Uncaught C++ exception of type \(Demangler.cxxTypeName(type))"
      + (text.isEmpty ? "" : ": \(text)")
  }

  private var hasNames: Bool { frames.contains { $0.function != nil } }

  private var isUncaught: Bool { hasTerminate || hasFrame("__cxa_throw") }

  private var hasTerminate: Bool {
    frames.contains { frame in
      frame.symbol == "_ZSt9terminatev"
        || frame.symbol?.hasPrefix("_ZN10__cxxabiv111__terminate") == true
        || frame.symbol == "__cxa_call_terminate"
    }
  }

  private func hasFrame(_ symbol: String) -> Bool { frames.contains { $0.symbol == symbol } }
}
