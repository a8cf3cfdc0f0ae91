internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Decides from the innermost frames of the crashing thread whether this thread wrote the last message of a runtime.
///
/// The Swift runtime and the C library each keep one text for the whole process. If two threads fail within
/// microseconds, the report of one thread may contain the message of the other, or both messages.
struct MessageOwner {
  enum Verdict {
    case crashingThread
    /// The stack does not show which thread wrote the message, for example because its frames have no function names.
    case unknown
    /// The crashing thread is not in code that writes a message, so another thread wrote the message, or the crashing
    /// thread wrote it earlier.
    case other
  }

  let snapshot: ProcessSnapshot
  /// The frames of the crashing thread.
  let frames: [StackFrame]

  /// The maximum number of frames that are searched for the function that ends the process after a message.
  private static let depth = 24

  // MARK: - Swift

  /// The message of the Swift runtime that the crashing thread wrote, and how certain it is that this thread wrote it.
  ///
  /// The result is nil if there is no message, if another thread wrote it, or if the crashing thread wrote it earlier.
  /// If the crashing thread may have written several of the messages, the result is also nil if the frames, the
  /// registers and the stack do not show which one it wrote.
  var swiftMessage: (text: String, certainty: Finding.Certainty)? {
    let messages = swiftMessages
    let possible = messages.compactMap { owned($0.text, by: ofSwift) }
    if possible.count <= 1 { return possible.first }
    var written = messages.filter { $0.isWritten(in: frames.prefix(Self.depth)) }
    if written.isEmpty { written = messages.filter(isOfObjectAtHand) }
    guard written.count == 1 else { return nil }
    return possible.first { $0.text == written.first?.text }
  }

  /// True if the message names an object to which a register or the stack of the crashing thread points.
  ///
  /// A message about an unowned reference has no file or line, but contains the address of the object, which can be
  /// compared with registers and stack.
  private func isOfObjectAtHand(_ message: SwiftMessage) -> Bool {
    let addresses = message.addresses
    guard !addresses.isEmpty, let context = snapshot.exception?.context else { return false }
    return context.generalRegisters.contains { addresses.contains($0.value) }
      || NotedWord.stackWords(in: snapshot, context).contains { addresses.contains($0.word) }
  }

  /// The messages of the Swift runtime, without duplicates.
  ///
  /// Two threads that fail at the same line write equal messages, which count as one. The last message may be cut off.
  private var swiftMessages: [SwiftMessage] {
    guard let text = snapshot.exception?.swiftMessage else { return [] }
    return SwiftMessage.messages(in: text).reduce(into: []) { messages, message in
      if !messages.contains(where: { $0.text.hasPrefix(message.text) }) { messages.append(message) }
    }
  }

  private func ofSwift(_ message: String) -> Verdict {
    var isSure = true
    for frame in frames.prefix(Self.depth) {
      guard let function = frame.function else {
        guard isInLibrary(frame) else { return .unknown }
        // In a library of Swift, a function without a name may be one that writes a message of the runtime, so the
        // result is not sure. C and C++ libraries such as libstdc++ have no such function.
        if snapshot.modules.module(of: frame).map({ RuntimeCode.isSwiftLibrary($0.name) }) ?? true {
          isSure = false
        }
        continue
      }
      // The frame is the trap of a check that writes no message, so the crashing thread did not write this message.
      if function.hasPrefix(FunctionName.trapPrefix) { return .other }
      let isRuntime =
        isInLibrary(frame) || RuntimeCode.isFunction(function, isCNameOwn: false)
      if isRuntime, Self.writers.contains(where: function.contains) { return judge(message) }
      if !isRuntime, !CompilerMade.isFunction(function) { return isSure ? .other : .unknown }
    }
    return .unknown
  }

  /// Parts of the names of functions that write a message and end the process.
  ///
  /// Source: swift stdlib/public/core/AssertCommon.swift and ErrorType.swift,
  /// stdlib/public/runtime/Errors.cpp, stdlib/public/Concurrency.
  private static let writers = [
    "_assertionFailure", "atalError", "nexpectedError", "rrorInMain", "dynamicCastFailure",
    "swift::crash", "swift_abort", "swift_deletedMethodError", "swift_reportError",
    "_diagnoseUnexpected", "ContinuationMisuse", "reportUnexpectedExecutor", "reportExclusivity",
    "swift_beginAccess",
  ]

  /// Beginnings of messages, each with a part of the name of the only function that writes such a message.
  ///
  /// These functions write no other messages. So if the stack has such a function without its message, or lacks the
  /// function of such a message, the message is not about this crash.
  private static let pairs = [
    ("Error raised at top level", "rrorInMain"),
    ("'try!' expression unexpectedly raised", "nexpectedError"),
    ("Could not cast value of type", "dynamicCastFailure"),
  ]

  /// Decides whether the crashing thread wrote `message`, after the stack has shown that this thread wrote some
  /// message.
  private func judge(_ message: String) -> Verdict {
    let text = SwiftMessage(message)
    let innermost = frames.prefix(Self.depth)
    for (words, function) in Self.pairs {
      let isOnStack = innermost.contains { $0.function?.contains(function) ?? false }
      if text.words.hasPrefix(words) != isOnStack { return .other }
    }
    // The runtime's own function in C++ writes no source file.
    if text.file != nil,
      innermost.contains(where: { $0.function?.hasPrefix("swift::fatalError") ?? false })
    {
      return .other
    }
    // The message contains the source file of the failed call, unless the program passed another file name.
    guard let file = text.file, !RuntimeCode.isModule(file.prefix { $0 != "/" }) else {
      return .crashingThread
    }
    let name = file.split(separator: "/").last ?? file
    let files = frames.compactMap { $0.sourceLocation?.file.split(separator: "/").last }
    return files.isEmpty || files.contains(name) ? .crashingThread : .unknown
  }

  // MARK: - The C library

  /// The message of the C library that the crashing thread wrote, and how certain it is that this thread wrote it.
  ///
  /// The result is nil if there is no message, if another thread wrote it, or if the crashing thread wrote it earlier.
  var libraryMessage: (text: String, certainty: Finding.Certainty)? {
    owned(snapshot.exception?.libraryMessage, by: ofLibrary)
  }

  /// Pairs of a part of a message and a part of a function's name: only functions whose names contain the second part
  /// write messages that contain the first.
  ///
  /// All of these functions except `__malloc_assert` are exported, so their names are known even in a libc without
  /// debug symbols.
  ///
  /// Source: glibc assert/assert.c, malloc/malloc.c, debug/stack_chk_fail.c, debug/chk_fail.c, debug/longjmp_chk.c.
  private static let libraryPairs = [
    ("Assertion `", "assert"), ("stack smashing detected", "__stack_chk"),
    ("buffer overflow detected", "__chk_fail"),
    ("longjmp causes uninitialized stack frame", "longjmp_chk"),
  ]

  /// Decides from libc's functions on the stack whether this thread wrote the message.
  ///
  /// A call of abort() alone writes no message, so the verdict is then `other`. A signal other than that of abort() is
  /// about a message only if the thread was in abort(), for example if its handler crashed.
  private func ofLibrary(_ message: String) -> Verdict {
    let inLibrary = frames.prefix(Self.depth).prefix { frame in
      isInLibrary(frame, "libc.so")
        || frame.function.map {
          !$0.contains("::") && RuntimeCode.isFunction($0, isCNameOwn: false) && !$0.contains(" ")
        } ?? false
    }
    guard
      snapshot.exception?.signal == SIGABRT || inLibrary.contains(where: { $0.function == "abort" })
    else { return .other }
    guard let outermost = inLibrary.last else {
      return frames.first?.function == nil ? .unknown : .other
    }
    guard let function = outermost.function else { return .unknown }
    for (words, writer) in Self.libraryPairs {
      let isOnStack = inLibrary.contains { $0.function?.contains(writer) ?? false }
      if message.contains(words) == isOnStack { continue }
      // `__assert_perror_fail` and the assertions of the allocator write messages in other forms, which may also be
      // from the crashing thread.
      let isOtherText = isOnStack && writer == "assert" && Self.isOtherAssertion(message)
      if !isOtherText { return .other }
    }
    return Self.silent.contains(function) ? .other : .crashingThread
  }

  private static func isOtherAssertion(_ message: String) -> Bool {
    ["nexpected error", "assertion fail"].contains(where: message.contains)
  }

  private static let silent: Set = [
    "abort", "raise", "gsignal", "kill", "tgkill", "pthread_kill", "__pthread_kill",
    "__pthread_kill_implementation", "__pthread_kill_internal", "syscall",
  ]

  // MARK: - Either

  /// The messages that are not known to belong to the crash: other threads may have written them, or the crashing
  /// thread earlier.
  var otherMessages: [String] {
    let own = swiftMessage?.text
    let library = libraryMessage == nil ? snapshot.exception?.libraryMessage : nil
    return swiftMessages.map(\.text).filter { $0 != own } + [library].compactMap(\.self)
  }

  private func owned(
    _ message: String?, by verdict: (String) -> Verdict
  ) -> (text: String, certainty: Finding.Certainty)? {
    guard let message else { return nil }
    // A runtime that writes a message ends the process from its own code. So a thread that crashed outside all modules
    // did not write this message.
    if isOutsideModules { return nil }
    return switch verdict(message) {
    case .crashingThread: (message, .certain)
    case .unknown: (message, .likely)
    case .other: nil
    }
  }

  /// True if the thread ran outside all modules and was called from a module, as after a call to an invalid address.
  private var isOutsideModules: Bool {
    let calls = frames.filter { !$0.isInlined }.prefix(2)
    guard calls.count == 2, let innermost = calls.first, let caller = calls.last else {
      return false
    }
    return innermost.function == nil && innermost.moduleIndex == nil && caller.moduleIndex != nil
  }

  private func isInLibrary(_ frame: StackFrame, _ name: String? = nil) -> Bool {
    guard let module = snapshot.modules.module(of: frame)?.name else { return false }
    return name.map(module.hasPrefix) ?? RuntimeCode.isLibrary(module)
  }
}
