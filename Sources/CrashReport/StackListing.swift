/// A thread's stack as text and HTML show it: numbered frames, a recursion folded, and in words
/// what is missing.
///
/// Its words are raw, as those of a section.
struct StackListing {
  enum Item {
    /// The number is nil where a gap further in leaves it unknown.
    case frame(CrashReport.Frame, number: Int?)
    /// What stands in place of frames.
    case elision(String)
    /// What is said behind the frames.
    case note(String)
  }

  private(set) var items: [Item] = []

  init(_ thread: CrashReport.Thread) {
    if thread.frames.isEmpty { items.append(.elision("no stack")) }
    let folded = FoldedRecursion(thread)
    // Behind a gap no frame's number is known.
    var isCounted = true
    var isFolding = false
    var depth = 0
    let omitted = Self.plausible(thread.framesOmitted)
    for (position, frame) in thread.frames.enumerated() {
      let isBelowOmitted = omitted > 0 && position >= thread.framesOmittedAfter
      let index = depth + (isBelowOmitted ? omitted : 0)
      if frame.inlined != true { depth += 1 }
      if frame.trust == "after-gap" || (isBelowOmitted && thread.stackGap) { isCounted = false }
      if let folded, folded.range.contains(index) {
        if !isFolding { items.append(.elision(folded.text)) }
        isFolding = true
        continue
      }
      if omitted > 0, position == thread.framesOmittedAfter, !isFolding {
        let isGapWithin = thread.stackGap && !thread.frames.contains { $0.trust == "after-gap" }
        let gap = isGapWithin ? " and a part of the stack that is not in the dump" : ""
        items.append(.elision("... \(omitted) frames\(gap) ..."))
      }
      if frame.trust == "after-gap" {
        items.append(
          .elision("... a part of the stack that is not in the dump; frames are missing ..."))
      }
      items.append(.frame(frame, number: isCounted ? index : nil))
    }
    if let bytes = thread.stackBytesOmitted, bytes > 0 {
      items.append(.note("\(TextReport.size(bytes)) of this stack are not in the dump"))
    }
    if thread.stackEnd == "lost", !thread.frames.isEmpty {
      items.append(.note("the stack goes on; its next frame was not found"))
    }
    if let task = thread.task { add(task, of: thread, isCounted: isCounted) }
  }

  /// JSON may say anything.
  private static func plausible(_ count: Int) -> Int { min(max(0, count), 1 << 40) }

  /// The functions that wait for one of the thread's, numbered on from that one.
  private mutating func add(
    _ task: CrashReport.Task, of thread: CrashReport.Thread, isCounted: Bool
  ) {
    items.append(.note(task.title))
    guard !task.frames.isEmpty else { return }
    let callee = task.calleeIndex.flatMap { index in
      thread.frames.indices.contains(index) ? thread.frames[...index] : nil
    }
    var number = callee?.count { $0.inlined != true }
    if let callee, thread.framesOmitted > 0, callee.count > thread.framesOmittedAfter {
      number = isCounted ? number.map { $0 + Self.plausible(thread.framesOmitted) } : nil
    }
    let name = callee?.last?.function.map(FunctionName.short) ?? "the task's function"
    items.append(.elision("awaiting \(name):"))
    for (position, frame) in task.frames.enumerated() {
      if task.framesOmitted > 0, position == task.framesOmittedAfter {
        items.append(.elision("... \(task.framesOmitted) frames ..."))
        number = number.map { $0 + Self.plausible(task.framesOmitted) }
      }
      items.append(.frame(frame, number: number))
      if frame.inlined != true { number = number.map { $0 + 1 } }
    }
    if task.framesCut { items.append(.note("who awaits that one is not in the dump")) }
  }
}

extension CrashReport.Task {
  /// Such as "task 7 "import", priority low, cancelled".
  var title: String {
    let words = [
      "task" + (id.map { " \($0)" } ?? "") + (name.map { " \"\($0)\"" } ?? ""),
      priority.map { "priority \($0)" }, basePriority.map { "made with \($0)" },
      cancelled == true ? "cancelled" : nil, child == true ? "child task" : nil,
    ]
    return words.compactMap { $0 }.joined(separator: ", ")
  }
}
