internal import CrashKinds
internal import Dispatch
internal import Glibc

extension CrashPlace {
  /// Makes the thread that must exist before the handler starts; nil if this place needs none.
  func prepare(stackSize: Int?) -> EarlierThread? {
    switch self {
    case .earlierThread: EarlierThread(stackSize: stackSize, isWorker: false)
    case .earlierWorker: EarlierThread(stackSize: stackSize, isWorker: true)
    default: nil
    }
  }

  /// Runs a crash at this place, and waits for it.
  ///
  /// The crash may throw only on the main thread.
  func run(
    _ crash: @escaping @Sendable () throws -> Void, stackSize: Int?, earlier: EarlierThread?
  ) throws {
    switch self {
    case .main: try crash()
    case .pthread: Thread.start(stackSize: stackSize) { onPthread(crash) }.join()
    case .dispatch:
      let done = DispatchSemaphore(value: 0)
      DispatchQueue(label: "crash-lab.victim").async {
        onDispatchWorker(crash)
        done.signal()
      }
      done.wait()
    case .task:
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        onTask(crash)
        done.signal()
      }
      done.wait()
    case .earlierThread: earlier?.run { onPthread(crash) }
    case .earlierWorker: earlier?.run { onDispatchWorker(crash) }
    }
  }
}

// Each place has its own frame on the stack. The bodies differ because the optimizer merges functions that are
// identical or nearly so.

@inline(never)
func onPthread(_ crash: @Sendable () throws -> Void) {
  attempt(crash)
  stayOnTheStack()
}

@inline(never)
func onDispatchWorker(_ crash: @Sendable () throws -> Void) {
  stayOnTheStack()
  attempt(crash)
  stayOnTheStack()
}

@inline(never)
func onTask(_ crash: @Sendable () throws -> Void) {
  stayOnTheStack()
  stayOnTheStack()
  attempt(crash)
  stayOnTheStack()
}

/// Runs a crash where errors cannot propagate: prints them instead.
func attempt(_ crash: @Sendable () throws -> Void) {
  do {
    try crash()
  } catch {
    standardError("crash-lab: \(error)\n")
  }
}
