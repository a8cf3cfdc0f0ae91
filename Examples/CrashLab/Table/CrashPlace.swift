/// Where in the victim a crash happens.
public enum CrashPlace: String, Sendable, CaseIterable {
  case main
  case pthread
  case dispatch
  case task
  /// Made before the handler started.
  case earlierThread = "earlier-thread"
  case earlierWorker = "earlier-worker"

  /// A thread of each kind.
  public static let kinds: [CrashPlace] = [.main, .pthread, .dispatch, .task]

  /// A part of the name of the frame that the victim puts below the crash.
  public var function: String {
    switch self {
    case .main: "CrashLab"
    case .pthread, .earlierThread: "onPthread"
    case .dispatch, .earlierWorker: "onDispatchWorker"
    case .task: "onTask"
    }
  }
}
