internal import CrashTestSupport

/// The circumstances of a crash: the options of crash-lab, and how it is started.
public struct CrashCondition: Sendable {
  /// The columns of one table.
  public enum Group: String, Sendable, CaseIterable {
    case place = "Kind of thread"
    case locks = "Locks that the crashing thread holds"
    case moments = "Moment of the crash"
    case threads = "Other threads of the process"
    case modules = "Modules and mappings"
    case resources = "Resources"
    case children = "Children"
    case containers = "Containers and privileges"
    case handlers = "Other handlers, signals and debuggers"
    case sharing = "Shared databases"
  }

  public let name: String
  public let group: Group
  /// A description of the condition, and for one that cannot be made here, the nearest substitute.
  public let summary: String
  var launch = Launch.direct
  /// Arguments of crash-lab in addition to the kind.
  var arguments: [String] = []
  var environment: [String: String] = [:]
  /// Appended to the database's path for crash-lab, if it uses a path other than the test's.
  var databaseSuffix = ""
  var places = CrashPlace.allCases
  /// The number of crashes in processes with our handler.
  var crashes = 1
  /// The number of dumps that are pending when the program starts.
  var dumpsBefore = 0
  /// True if the crash happens on a thread that the condition makes.
  var isOnOtherThread = false
  /// True if the crashing thread first calls into the condition: then main cannot throw an error.
  var surroundsCrash = false
  /// True if the process that the test sees does not end by the crash's own signal.
  public var endsOtherwise = false
  /// False if the output is a debugger's, or that of a handler that has no stack without ours.
  var comparesOutput = true
  /// False if a dump has no mappings; the report then contains no explanation that needs them.
  var knowsMappings = true
  /// False if a dump has only registers; the report then names no function.
  var readsMemory = true
  /// False if what the handler prints does not reach the log, or not as it printed it.
  var keepsLog = true
  /// True if a dump is cut off at its preallocated size, because the stack of an overflow is larger.
  var cutsLargeDumps = false
  /// True if the kernel has no room for the data of the sender; the signal then has the code SI_USER and no sender.
  var losesSenders = false
  /// True if signals arrive at any moment and are handled on the thread's own stack.
  var interrupts = false
  /// True if a run takes seconds; then only one kind of crash of each sort is run.
  var isSlow = false
  /// True if the handler may need its whole time limit on a busy machine.
  var takesTime = false
  /// The upper bound, in bytes, of a signal frame on this machine.
  var largestSignalFrame = Int.max
  var needsRoot = false
  var tool: OutsideTool?
  /// Kinds that are impossible under this condition, with the reasons.
  var excluded: [String: String] = [:]
  /// True if another handler has replaced ours, which then gets no signals.
  var takesSignals = false

  /// True if the dumps take long to convert and to read.
  var isHeavy: Bool { takesTime || dumpsBefore > 0 }

  /// The reason why a kind of crash is impossible under this condition; nil if it is possible.
  public func obstacle(_ crash: KnownCrash) -> String? {
    if let reason = excluded[crash.kind] { return reason }
    if isSlow, !CrashCondition.representatives.contains(crash.kind) {
      return "one kind of each sort is enough"
    }
    if surroundsCrash, crash.kind == "uncaught-error" { return "is thrown out of main only" }
    // These kinds crash on a worker, which waits forever for a lock that this thread holds.
    if surroundsCrash, ["continuation", "await-chain"].contains(crash.kind) {
      return "is another thread's crash"
    }
    if isOnOtherThread, !crash.places.contains(.pthread) { return "not on such a thread" }
    return possiblePlaces(crash).isEmpty ? "not on such a thread" : nil
  }

  public func possiblePlaces(_ crash: KnownCrash) -> [CrashPlace] {
    places.filter(crash.places.contains)
  }

  /// A fault, an abort, a trap of Swift's runtime with its message, one without, and a stack overflow.
  public static let representatives = [
    "null-read", "abort", "fatal-error", "integer-overflow", "stack-overflow",
  ]

  public static let all =
    places + locks + moments + threads + modules + resources + children + containers + handlers
    + allocators + sharing + converters

  public static func named(_ name: String) -> CrashCondition? { all.first { $0.name == name } }
}

/// How crash-lab is started: its command line, unchanged or within another one.
enum Launch: Sendable {
  case direct
  /// Words before the command line: a program that executes crash-lab, or ends as it does.
  case wrapped([String])
  /// A shell script, with crash-lab's command line in "$@" and the database's directory in $DATABASE.
  case script(String, wrapper: [String] = [])

  func commandLine(_ command: [String]) -> [String] {
    switch self {
    case .direct: command
    case .wrapped(let words): words + command
    case .script(let script, let wrapper): wrapper + ["/bin/sh", "-c", script, "sh"] + command
    }
  }
}
