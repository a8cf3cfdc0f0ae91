internal import Stackwalk

/// Recognizes methods of locks, such as `withLock`, or any method of a type whose name ends in "Lock", "Mutex" or
/// "Semaphore": their callers show which lock a thread waits for.
enum LockMethod {
  static func contains(_ frame: StackFrame) -> Bool {
    guard let function = frame.function else { return false }
    let name = SignatureName(function).text.prefix { $0 != "(" }
    let parts = name.split { $0 == "." || $0 == ":" }
    guard let method = parts.last else { return false }
    let type = parts.dropLast().last ?? ""
    return names.contains(String(method)) || typeEndings.contains(where: type.hasSuffix)
  }

  private static let typeEndings = ["Lock", "Mutex", "Semaphore"]

  private static let names: Set = [
    "withLock", "withLockVoid", "withLockUnchecked", "withReadLock", "withWriteLock",
    "withReaderLock", "withWriterLock", "lock", "acquire", "sync", "synchronized", "wait", "join",
  ]
}
