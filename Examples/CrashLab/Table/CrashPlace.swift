/// Where in the victim a crash happens.
public enum CrashPlace: String, Sendable, CaseIterable {
  case main
  case pthread
  case dispatch
  case task
  /// A thread that was created before the handler started.
  case earlierThread = "earlier-thread"
  case earlierWorker = "earlier-worker"

  /// One place for each kind of thread.
  public static let kinds: [CrashPlace] = [.main, .pthread, .dispatch, .task]

  /// A part of the name of a function that calls the crash, directly or not, and that marks this place.
  public var function: String {
    switch self {
    case .main: "CrashLab"
    case .pthread, .earlierThread: "onPthread"
    case .dispatch, .earlierWorker: "onDispatchWorker"
    case .task: "onTask"
    }
  }
}
