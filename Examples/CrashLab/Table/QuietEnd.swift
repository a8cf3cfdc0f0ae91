/// An end that the crash handler does not handle, and that must leave nothing that looks like a crash.
public struct QuietEnd: Sendable {
  public let kind: String
  /// What crash-lab does, for its list.
  public let summary: String
  public var places: [CrashPlace] = [.main]

  public static let all: [QuietEnd] = [
    QuietEnd(kind: "exit", summary: "ends with exit(0)", places: CrashPlace.allCases),
    QuietEnd(kind: "quick-exit", summary: "ends with _exit(0)", places: CrashPlace.allCases),
    QuietEnd(kind: "return", summary: "returns from main"),
    QuietEnd(kind: "exec", summary: "becomes another program", places: [.main, .pthread]),
    QuietEnd(kind: "killed", summary: "ends by SIGKILL", places: CrashPlace.allCases),
    QuietEnd(kind: "out-of-memory", summary: "uses more memory than its cgroup has"),
    QuietEnd(kind: "terminated", summary: "ends by SIGTERM", places: [.main, .pthread]),
    QuietEnd(kind: "term-handled", summary: "exits in an orderly way at SIGTERM"),
    QuietEnd(kind: "term-then-kill", summary: "does not heed SIGTERM and gets SIGKILL"),
  ]
}
