internal import ProcessSnapshot
internal import Stackwalk

extension CrashReport {
  /// A task of Swift concurrency, and the asynchronous functions that wait in it.
  public struct Task: Codable, Sendable, Equatable {
    /// The runtime's number of the task; null where its memory is not in the dump.
    public var id: UInt64?
    /// As given to `Task(name:)`.
    public var name: String?
    /// "userInteractive", "high", "medium", "low" or "background"; a number for another one.
    public var priority: String?
    /// The priority that it was made with, where it was raised since.
    public var basePriority: String?
    public var cancelled: Bool?
    /// Whether it belongs to an `async let` or a task group.
    public var child: Bool?
    /// Which of the thread's frames `frames` wait for; null where that one is not listed.
    public var calleeIndex: Int?
    /// The callers that wait, innermost first, each at the address where it goes on.
    public var frames: [Frame]
    /// Callers in the middle that are not listed, and how many listed ones come before them.
    public var framesOmitted: Int
    public var framesOmittedAfter: Int
    /// Whether memory was missing to follow them to the task's first function.
    public var framesCut: Bool

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(name, forKey: .name)
      try container.encode(priority, forKey: .priority)
      try container.encode(basePriority, forKey: .basePriority)
      try container.encode(cancelled, forKey: .cancelled)
      try container.encode(child, forKey: .child)
      try container.encode(calleeIndex, forKey: .calleeIndex)
      try container.encode(frames, forKey: .frames)
      try container.encode(framesOmitted, forKey: .framesOmitted)
      try container.encode(framesOmittedAfter, forKey: .framesOmittedAfter)
      try container.encode(framesCut, forKey: .framesCut)
    }
  }
}

extension CrashReport.Task {
  /// Source: swift stdlib/public/Concurrency/Task.swift, `TaskPriority`.
  private static let priorities: [UInt8: String] = [
    0x21: "userInteractive", 0x19: "high", 0x15: "medium", 0x11: "low", 0x09: "background",
  ]

  init(_ task: TaskSnapshot, trace: StackTrace, in snapshot: ProcessSnapshot) {
    let fields = task.fields(in: snapshot.memory)
    id = fields?.id
    name = fields?.name
    priority = fields.map { Self.word($0.priority) }
    if let fields, let base = fields.basePriority, base != fields.priority {
      basePriority = Self.word(base)
    }
    cancelled = fields?.isCancelled
    child = fields?.isChild
    let calls = trace.asyncCalls
    calleeIndex = calls?.calleeIndex
    frames = []
    framesOmittedAfter = 0
    for (index, frame) in (calls?.frames ?? []).enumerated() {
      if index == calls?.omittedAfter { framesOmittedAfter = frames.count }
      let frame = CrashReport.Frame(frame, in: snapshot)
      if !Self.isCompilersOwn(frame) { frames.append(frame) }
    }
    framesOmitted = calls?.omittedCount ?? 0
    framesCut = calls?.isCut ?? false
  }

  private static func word(_ priority: UInt8) -> String {
    priorities[priority] ?? "\(priority)"
  }

  /// What stands between a task and its first function: the runtime's end of a task, and the
  /// compiler's adapters.
  private static func isCompilersOwn(_ frame: CrashReport.Frame) -> Bool {
    guard let function = frame.function else { return false }
    return function.contains("reabstraction thunk helper")
      || function.contains("partial function for partial apply forwarder for ")
      || function.hasPrefix("completeTask")
  }
}
