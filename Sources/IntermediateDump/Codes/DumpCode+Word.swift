// Defines `word` for enums in which the word for at least one case differs from the name of the case. Only readers of
// dumps use `word`.

extension AnnotationState {
  public var word: String { self == .beingReplaced ? "being-replaced" : "\(self)" }
}

extension AnnotationType {
  public var word: String {
    switch self {
    case .text: "string"
    case .signed: "int"
    case .unsigned: "uint"
    case .double: "double"
    case .bool: "bool"
    }
  }
}

extension CaptureMethod {
  public var word: String {
    switch self {
    case .crashed: "crash"
    case .stopped: "stopped"
    case .alsoCrashed: "also-crashed"
    case .kernel: "kernel"
    case .none: "none"
    }
  }
}

extension HangTarget {
  public var word: String { self == .mainThread ? "main-thread" : "\(self)" }
}

extension HangThreadEvidence {
  public var word: String { self == .lastSeen ? "last-seen" : "\(self)" }
}

extension TaskState {
  public var word: String {
    switch self {
    case .awaitsActor: "awaits-actor"
    case .awaitsTask: "awaits-task"
    case .awaitsGroup: "awaits-group"
    case .awaitsContinuation: "awaits-continuation"
    case .running, .ready, .suspended: "\(self)"
    }
  }
}
