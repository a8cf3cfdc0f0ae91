internal import CrashKinds
internal import Dispatch
internal import Glibc

extension CrashPlace {
  /// Called before the handler starts; nil if no thread has to be there.
  func prepare(stackSize: Int?) -> EarlierThread? {
    switch self {
    case .earlierThread: EarlierThread(stackSize: stackSize, isWorker: false)
    case .earlierWorker: EarlierThread(stackSize: stackSize, isWorker: true)
    default: nil
    }
  }

  /// Runs the crash there and waits; only on the main thread may it throw.
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

// Each place shows in the stack by a frame of its own. The bodies differ because functions that are alike, or nearly so,
// are merged into one by the optimiser.

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

/// Runs a crash where errors have nowhere to go.
func attempt(_ crash: @Sendable () throws -> Void) {
  do {
    try crash()
  } catch {
    standardError("crash-lab: \(error)\n")
  }
}
