internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the cause of a SIGABRT that the process sent to itself.
struct AbortFinding {
  let snapshot: ProcessSnapshot
  let frames: [StackFrame]

  var finding: Finding {
    let owner = MessageOwner(snapshot: snapshot, frames: frames)
    if let message = owner.swiftMessage {
      return Finding(
        cause: .swiftFailure(SwiftFailure(message: message.text), .abort),
        certainty: message.certainty, evidence: fact + [.swiftMessage(message.text)])
    }
    if let message = owner.libraryMessage {
      return Finding(
        cause: .libraryFailure(LibraryFailure(message: message.text)),
        certainty: message.certainty, evidence: fact + [.libraryMessage(message.text)])
    }
    if let failure = ConcurrencyFailure(of: frames) {
      return Finding(
        cause: .concurrencyFailure(failure), certainty: .inferred,
        evidence: fact + [.concurrencyFailureOnStack])
    }
    if let exception = exceptionFinding { return exception }
    if hasFrame("__cxa_pure_virtual") {
      return Finding(cause: .pureVirtualCall, evidence: fact + [.pureVirtualOnStack])
    }
    // The cause `terminate` means that there was no C++ exception. If the dump has an exception but not its type, the
    // cause is only `abort`.
    if hasTerminate, snapshot.cxxException == nil {
      return Finding(cause: .terminate, evidence: fact + [.terminateOnStack])
    }
    return Finding(cause: .abort, evidence: fact)
  }

  /// The signal, whose sender is not known if the dump lacks `si_code`.
  private var fact: [Evidence] {
    snapshot.exception?.code == nil ? snapshot.signalEvidence : [.ownAbort]
  }

  private var exceptionFinding: Finding? {
    guard let type = snapshot.cxxException?.typeName else { return nil }
    let name = Demangler.cxxTypeName(type)
    let evidence = fact + [.caughtException(type: name)]
    if isTerminatedByProgram {
      return Finding(
        cause: .terminateInCatch(type: name), evidence: evidence + [.terminateOnStack])
    }
    guard isUncaught else {
      // If the stack has no names, abort() may have been called in a catch block, so an uncaught exception is only
      // likely.
      return hasNames
        ? Finding(cause: .abortInCatch(type: name), evidence: evidence)
        : Finding(cause: .uncaughtException(type: name), certainty: .likely, evidence: evidence)
    }
    return Finding(
      cause: name == "std::bad_alloc" ? .badAllocation : .uncaughtException(type: name),
      certainty: isThrowSeen ? .certain : .likely, evidence: evidence + [.terminateOnStack])
  }

  /// A message with the type and the text of the uncaught C++ exception; nil if there is none or its type is not known.
  var exceptionMessage: String? {
    guard let exception = snapshot.cxxException, let type = exception.typeName,
      snapshot.exception?.wasSent == true, snapshot.isOwnProcess(snapshot.exception?.sender),
      isUncaught && !isTerminatedByProgram || !hasNames
    else { return nil }
    return "Uncaught C++ exception of type \(Demangler.cxxTypeName(type))"
      + (exception.message?.trimmed.map { ": \($0)" } ?? "")
  }

  private var hasNames: Bool { frames.contains { $0.function != nil } }

  private var isUncaught: Bool { hasTerminate || hasFrame("__cxa_throw") }

  private var hasTerminate: Bool { frames.contains(where: Self.terminates) }

  private static func terminates(_ frame: StackFrame) -> Bool {
    frame.linkageName == "_ZSt9terminatev"
      || frame.linkageName?.hasPrefix("_ZN10__cxxabiv111__terminate") == true
      || frame.linkageName?.hasPrefix("_ZSt11__terminate") == true
      || frame.linkageName == "__cxa_call_terminate"
      || frame.linkageName == "__clang_call_terminate"
  }

  /// The name of the function that called std::terminate(); nil if it is not known.
  private var terminateCaller: String? {
    frames.lastIndex(where: Self.terminates).map { frames[($0 + 1)...] }?.first?.linkageName
  }

  /// True if the stack shows that the runtime called std::terminate() for an exception that nothing caught: at the
  /// `throw`, or where the exception would leave a function that is noexcept.
  ///
  /// Source: GCC libstdc++-v3/libsupc++/eh_throw.cc, eh_call.cc; LLVM libcxxabi/src/cxa_exception.cpp.
  /// Source: clang lib/CodeGen/CGException.cpp, getClangCallTerminateFn.
  private var isThrowSeen: Bool {
    hasFrame("__cxa_call_terminate") || hasFrame("__clang_call_terminate")
      || (terminateCaller.map(Self.isOfThrow) ?? hasFrame("__cxa_throw"))
  }

  /// True if a function other than the runtime's called std::terminate(), so the exception had been caught.
  private var isTerminatedByProgram: Bool { hasTerminate && terminateCaller != nil && !isThrowSeen }

  private static func isOfThrow(_ name: String) -> Bool {
    ["__cxa_throw", "__cxa_rethrow", "__cxa_call_unexpected"].contains(name)
      || throwPrefixes.contains(where: name.hasPrefix)
  }

  private static let throwPrefixes = [
    "__gxx_personality", "_Unwind_", "_ZSt17rethrow_exception", "_ZN10__cxxabiv1L12failed_throw",
  ]

  private func hasFrame(_ symbol: String) -> Bool { frames.contains { $0.linkageName == symbol } }
}
