internal import ProcessSnapshot

extension CrashReport {
  /// Why the dump was taken; null for a crash.
  public struct Request: Codable, Sendable, Equatable {
    /// "program" or "hang"; null where the dump only says that nothing crashed.
    public var kind: String?
    /// "main-thread", "queue", "executor" or "heartbeat".
    public var target: String?
    /// What the program calls it.
    public var name: String?
    /// Nanoseconds after which it counts as hung.
    public var threshold: UInt64?
    /// Nanoseconds that it hung for.
    public var hangTime: UInt64?
    /// Nanoseconds of CPU time that the hung thread used meanwhile.
    public var processorTime: UInt64?
    /// "busy" for a thread that ran, "idle" for one that waited.
    public var activity: String?
    /// "known", "last-seen" or "none": whether the first thread is the one that hung.
    public var threadEvidence: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(kind, forKey: .kind)
      try container.encode(target, forKey: .target)
      try container.encode(name, forKey: .name)
      try container.encode(threshold, forKey: .threshold)
      try container.encode(hangTime, forKey: .hangTime)
      try container.encode(processorTime, forKey: .processorTime)
      try container.encode(activity, forKey: .activity)
      try container.encode(threadEvidence, forKey: .threadEvidence)
    }
  }
}

extension CrashReport.Request {
  init?(_ request: DumpRequest?) {
    guard let request else { return nil }
    // The words are the JSON's.
    kind =
      switch request.kind {
      case .program: "program"
      case .hang: "hang"
      case nil: nil
      }
    target =
      switch request.target {
      case .mainThread: "main-thread"
      case .queue: "queue"
      case .executor: "executor"
      case .heartbeat: "heartbeat"
      case nil: nil
      }
    name = request.name
    threshold = request.threshold
    hangTime = request.hangTime
    processorTime = request.processorTime
    activity = request.isBusy.map { $0 ? "busy" : "idle" }
    threadEvidence =
      switch request.threadEvidence {
      case .known: "known"
      case .lastSeen: "last-seen"
      case .some(.none): "none"
      case nil: nil
      }
  }

  /// The report in one or two sentences.
  func text(at time: Timestamp?) -> String {
    guard kind == "hang" else {
      let moment = time.map { " at \($0.readable)" } ?? ""
      return kind == "program"
        ? "Dump requested by the program\(moment). Nothing crashed."
        : "Dump requested\(moment). Nothing crashed."
    }
    let subject =
      switch target {
      case "main-thread": "The main thread"
      case "queue": "The queue"
      case "executor": "The executor"
      default: "The heartbeat"
      }
    let label = name.flatMap { $0.isEmpty ? nil : " \"\($0)\"" } ?? ""
    let length = hangTime.map { " for \(Self.seconds($0))" } ?? ""
    let limit = threshold.map { " (the limit is \(Self.seconds($0)))" } ?? ""
    return "\(subject)\(label) had not answered\(length)\(limit) when the process ended."
      + activityText + evidenceText
  }

  private var activityText: String {
    guard let processorTime, let activity else { return "" }
    let used = Self.seconds(processorTime)
    return activity == "busy"
      ? " Its thread was busy: it used \(used) of CPU time meanwhile."
      : " Its thread was waiting: it used \(used) of CPU time meanwhile."
  }

  private var evidenceText: String {
    switch threadEvidence {
    case "last-seen": " The thread shown first is the last that answered; another may have hung."
    case "none": " Which thread hung is not known."
    default: ""
    }
  }

  /// In tenths of a second.
  private static func seconds(_ nanoseconds: UInt64) -> String {
    let tenths = nanoseconds / 100_000_000
    return "\(tenths / 10).\(tenths % 10) s"
  }
}
