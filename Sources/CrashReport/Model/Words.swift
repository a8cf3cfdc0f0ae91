package import ProcessSnapshot

// The words of the JSON schema for the states that a snapshot knows.

extension RunEnd.Kind {
  package var word: String {
    switch self {
    case .outOfMemory: "out-of-memory"
    case .stopTimeout: "stop-timeout"
    case .killed: "killed"
    case .rebooted: "rebooted"
    case .replaced: "replaced"
    case .hungThenKilled: "hung-then-killed"
    case .unexplained: "unexplained"
    }
  }
}

extension RunEnd.Certainty {
  var word: String {
    switch self {
    case .certain: "certain"
    case .likely: "likely"
    case .possible: "possible"
    }
  }
}

extension DumpRequest.Kind {
  package var word: String {
    switch self {
    case .program: "program"
    case .hang: "hang"
    case .tool: "tool"
    }
  }
}

extension DumpRequest.Target {
  var word: String {
    switch self {
    case .mainThread: "main-thread"
    case .queue: "queue"
    case .executor: "executor"
    case .heartbeat: "heartbeat"
    }
  }
}

extension DumpRequest.ThreadEvidence {
  var word: String {
    switch self {
    case .known: "known"
    case .lastSeen: "last-seen"
    case .none: "none"
    }
  }
}

extension OpenDescriptor.Kind {
  var word: String {
    switch self {
    case .file: "file"
    case .directory: "directory"
    case .device: "device"
    case .socket: "socket"
    case .pipe: "pipe"
    case .anonymous: "anonymous"
    case .memory: "memory"
    case .other: "other"
    }
  }
}

extension Survival.Outcome {
  var word: String {
    switch self {
    case .previousHandlerRan: "may-have-survived"
    case .wentOn: "survived"
    case .discarded: "discarded"
    case .endedByHandler: "ended-by-handler"
    }
  }
}

extension ClientAnnotation.State {
  var word: String {
    switch self {
    case .beingReplaced: "being-replaced"
    case .stale: "stale"
    case .unreadable: "unreadable"
    }
  }
}

extension ClientAnnotation.Value {
  /// The word for its type.
  package var typeWord: String {
    switch self {
    case .text: "string"
    case .signed: "int"
    case .unsigned: "uint"
    case .double: "double"
    case .bool: "bool"
    }
  }
}

extension ThreadSnapshot {
  /// By the numbers of sched(7).
  private static let policies: [UInt8: String] = [
    0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline",
  ]

  var policyWord: String? { schedulingPolicy.flatMap { Self.policies[$0] } }
}

extension TaskSnapshot.Fields {
  /// Source: swift stdlib/public/Concurrency/Task.swift, `TaskPriority`.
  private static let priorities: [UInt8: String] = [
    0x21: "userInteractive", 0x19: "high", 0x15: "medium", 0x11: "low", 0x09: "background",
  ]

  private static func word(_ priority: UInt8) -> String { priorities[priority] ?? "\(priority)" }

  package var priorityWord: String { Self.word(priority) }

  /// The priority that the task was made with; nil where it is still that.
  var basePriorityWord: String? { basePriority.flatMap { $0 == priority ? nil : Self.word($0) } }
}
