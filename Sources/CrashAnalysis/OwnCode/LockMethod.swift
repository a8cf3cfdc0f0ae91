internal import Stackwalk

/// Recognizes methods of locks, such as `withLock`, or any method of a type whose name ends in "Lock", "Mutex" or
/// "Semaphore": their callers show which lock a thread waits for.
enum LockMethod {
  static func contains(_ frame: StackFrame) -> Bool {
    guard let (type, method) = parts(of: frame) else { return false }
    return names.contains(String(method)) || typeEndings.contains(where: type.hasSuffix)
  }

  /// True for a method that takes a lock, such as `SpinLock.lock()` or `acquire`.
  static func takes(_ frame: StackFrame) -> Bool {
    guard let (type, method) = parts(of: frame) else { return false }
    return takingNames.contains(String(method))
      && (typeEndings.contains(where: type.hasSuffix) || names.contains(String(method)))
      || cFunctions.contains { method.lowercased().hasSuffix($0) }
  }

  /// The names of the function and of the type that contains it, which is empty for a function of C.
  private static func parts(of frame: StackFrame) -> (type: Substring, method: Substring)? {
    guard let function = frame.function else { return nil }
    let name = SignatureName(function).text.prefix { $0 != "(" }
    let parts = name.split { $0 == "." || $0 == ":" }
    return parts.last.map { (parts.dropLast().last ?? "", $0) }
  }

  private static let typeEndings = ["Lock", "Mutex", "Semaphore"]

  private static let names: Set = [
    "withLock", "withLockVoid", "withLockUnchecked", "withReadLock", "withWriteLock",
    "withReaderLock", "withWriterLock", "lock", "acquire", "sync", "synchronized", "wait", "join",
  ]

  private static let takingNames: Set = [
    "lock", "acquire", "take", "enter", "spin", "withLock", "withLockVoid", "withLockUnchecked",
  ]
  private static let cFunctions = [
    "spin_lock", "spinlock", "spin_lock_acquire", "spinlock_acquire",
  ]
}
