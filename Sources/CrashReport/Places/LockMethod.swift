internal import Stackwalk

/// Recognizes methods of locks, such as `withLock`: their callers show which lock a thread waits for.
enum LockMethod {
  static func contains(_ frame: StackFrame) -> Bool {
    guard let function = frame.function else { return false }
    let name = SignatureName(function).text.prefix { $0 != "(" }
    return names.contains(String(name.split { $0 == "." || $0 == ":" }.last ?? ""))
  }

  private static let names: Set = [
    "withLock", "withLockVoid", "withLockUnchecked", "withReadLock", "withWriteLock",
    "withReaderLock", "withWriterLock", "lock", "acquire", "sync", "synchronized", "wait", "join",
  ]
}
