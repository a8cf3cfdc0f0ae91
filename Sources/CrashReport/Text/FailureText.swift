internal import CrashAnalysis
internal import ProcessSnapshot

// Sentences about failures that runtimes detect, and about stack overflows; each group starts with the sentence that
// says what happened.

extension LibraryFailure {
  var sentences: [String] {
    switch self {
    case .assertion: ["A C assertion failed, and called abort()."]
    case .other: ["The C library ended the process: it left a message and called abort()."]
    case .stackSmashing:
      [
        "glibc detected stack smashing and called abort().",
        "A function found, before it returned, that the guard value above its variables had been"
          + " overwritten: one of them was written past its end.",
      ]
    case .bufferOverflow:
      [
        "glibc detected a buffer overflow and called abort().",
        "A copy would have written past the end of its destination.",
      ]
    case .heapCorruption:
      [
        "glibc detected heap corruption and called abort().",
        "The faulty write or free may have happened earlier, somewhere else.",
      ]
    }
  }
}

extension ConcurrencyFailure {
  var sentences: [String] {
    let what =
      switch self {
      case .taskAllocation:
        "memory of a task was not freed in the reverse order of its allocation (\"freed pointer was"
          + " not the last allocation\")"
      case .actorIsolation:
        "code of an actor ran outside that actor's executor (\"Incorrect actor executor"
          + " assumption\")"
      case .other: "a rule was broken"
      }
    return [
      "The Swift concurrency runtime stopped the process: \(what).",
      "This is inferred from the functions on the stack; the runtime wrote its message to standard"
        + " error alone.",
    ]
  }
}

extension SanitizerCheck {
  /// A description of the check; nil for an unknown check.
  var words: String? {
    Int(number) < Self.words.count ? Self.words[Int(number)] : nil
  }

  private static let words = [
    "an addition overflowed", "code that __builtin_unreachable() marks was reached",
    "a control-flow check failed", "a division overflowed, or was by zero",
    "an object has another dynamic type", "a floating-point value does not fit into the type",
    "a function was called through a pointer of another type",
    "an implicit conversion changed the value", "a builtin function was given an invalid argument",
    "an Objective-C cast failed", "a value that its type does not have was loaded",
    "a function that returns a value ended without one", "a multiplication overflowed",
    "a negation overflowed", "a null argument was passed where none may be",
    "null was returned where it may not be", "a null argument was passed where none may be",
    "null was returned where it may not be", "an index is out of bounds",
    "pointer arithmetic overflowed", "a shift is out of bounds", "a subtraction overflowed",
    "a pointer is null, misaligned or of too small an object",
    "an assumed alignment does not hold", "a variable-length array has no positive size",
    "a bounds-safety check failed",
  ]
}

extension DispatchMisuse {
  var sentence: String {
    switch self {
    case .unbalancedLeave:
      "libdispatch stopped the process: leave was called on a group more often than enter."
    case .releasedGroup:
      "libdispatch stopped the process: a group was released that had not been left as often as"
        + " entered."
    case .releasedSemaphore:
      "libdispatch stopped the process: a semaphore was released whose value was less than at its"
        + " creation, so a wait had no signal."
    case .extraResume:
      "libdispatch stopped the process: a queue or source was resumed more often than suspended."
    case .releasedQueue:
      "libdispatch stopped the process: a queue was released that was suspended or not activated."
    case .releasedSource:
      "libdispatch stopped the process: a source was released that was suspended or not activated."
    }
  }
}

extension StackOverflow {
  var sentences: [String] {
    var sentences = [headline]
    let size = "(\(stack), \(Quantity.distance(stack.byteCount)))"
    switch fault {
    case .access(let address, let below, let isInGuard, let frameSize):
      sentences.append(
        "The address \(address) lies \(Quantity.distance(below)) below the"
          + " stack \(size) and next to the stack pointer"
          + " \(stackPointer)\(isInGuard ? ", in its guard" : "").")
      if let frameSize {
        sentences.append("The innermost frame alone is \(Quantity.distance(frameSize)) large.")
      }
    case .signal(let mayHideGuard):
      let place =
        stackPointer.distance(above: stack.start).map {
          "\(Quantity.distance($0)) above the end of"
        } ?? "\(Quantity.distance(stack.start.wrappedDistance(above: stackPointer))) below"
      sentences.append(
        "A signal came, and the kernel had no room to deliver it: the stack pointer \(stackPointer)"
          + " lies \(place) the stack \(size).")
      if mayHideGuard {
        sentences.append("The lowest part of this stack may be its guard region.")
      }
    }
    if isOtherThanMain {
      sentences.append(
        "The main thread did not run on its own stack: this is most likely an alternate stack for"
          + " signal handlers.")
    }
    if let limit {
      sentences.append(
        "The main thread's stack may grow to \(Quantity.distance(limit)) (RLIMIT_STACK).")
    }
    return sentences
  }

  /// The first line of the report, with the function that fills the stack and the number of calls, if they are known.
  private var headline: String {
    let calls = depth.map { depth in
      let about = depth.estimated > 0 ? "about " : depth.isWhole ? "" : "at least "
      let (sum, isTooMany) = depth.found.addingReportingOverflow(depth.estimated)
      return "\(about)\(Quantity.grouped(isTooMany ? .max : sum)) calls deep"
    }
    guard let recursion else {
      return "Stack overflow" + (calls.map { ", \($0)" } ?? "") + "."
    }
    let name = FunctionName.short(recursion.name)
    let what =
      recursion.count * 4 >= recursion.frames * 3
      ? "\(name) calls itself"
      : "\(name) is in \(recursion.count) of the innermost \(recursion.frames) frames"
    return "Stack overflow: \(what)" + (calls.map { ", \($0)" } ?? "") + "."
  }
}
