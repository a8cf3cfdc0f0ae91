public import Testing

/// Where in the victim a crash happens.
public enum CrashPlace: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case main
  case pthread
  case dispatch
  case task

  public var testDescription: String { rawValue }

  /// A part of the name of the frame that the victim puts below the crash.
  public var function: String {
    switch self {
    case .main: "CrashLab"
    case .pthread: "onPthread"
    case .dispatch: "onDispatchWorker"
    case .task: "onTask"
    }
  }
}
