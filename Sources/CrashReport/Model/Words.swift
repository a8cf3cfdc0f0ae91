package import ProcessSnapshot

// The words that reports use for the priorities of tasks.

extension TaskSnapshot.Fields {
  /// Source: swift stdlib/public/Concurrency/Task.swift, `TaskPriority`.
  private static let priorities: [UInt8: String] = [
    0x21: "userInteractive", 0x19: "high", 0x15: "medium", 0x11: "low", 0x09: "background",
  ]

  private static func word(_ priority: UInt8) -> String { priorities[priority] ?? "\(priority)" }

  package var priorityWord: String { Self.word(priority) }

  /// The priority with which the task was created; nil if it is not known, or if the priority has not changed since
  /// then.
  var basePriorityWord: String? { basePriority.flatMap { $0 == priority ? nil : Self.word($0) } }
}
