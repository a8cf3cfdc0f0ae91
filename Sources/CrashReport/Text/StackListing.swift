internal import CrashAnalysis
internal import ProcessSnapshot
internal import Stackwalk

/// The lines of a thread's stack for text and HTML: numbered frames, and lines that replace recursions and missing
/// parts.
///
/// The text is not escaped, so the forms of the report must escape it.
struct StackListing {
  enum Item {
    /// A frame; its number is nil if an unknown number of frames is missing between this frame and the innermost one.
    case frame(StackFrame, number: Int?)
    /// A line between frames, for example one that replaces frames that are not shown.
    case elision(String)
    /// A note about the stack, for example after the last frame.
    case note(String)
  }

  private(set) var items: [Item] = []

  /// - Parameter isFull: true to include the functions that start the program or a thread.
  init(_ thread: ReportThread, isFull: Bool = true) {
    let trace = thread.trace
    let end = isFull ? trace.frames.count : trace.frames.endOfCalls
    if trace.frames.isEmpty { items.append(.elision("no stack")) }
    let folded = FoldedRecursion(trace)
    // Frames after a gap are listed without numbers, because it is not known how many frames the gap contains.
    var isCounted = true
    var isFolding = false
    var depth = 0
    for (position, frame) in trace.frames[..<end].enumerated() {
      let isBelowOmitted = trace.omittedCount > 0 && position >= trace.omittedAfter
      let index = depth + (isBelowOmitted ? trace.omittedCount : 0)
      if !frame.isInlined { depth += 1 }
      if frame.trust == .afterGap || (isBelowOmitted && trace.hasGap) { isCounted = false }
      if let folded, folded.range.contains(index) {
        if !isFolding { items.append(.elision(folded.text)) }
        isFolding = true
        continue
      }
      if trace.omittedCount > 0, position == trace.omittedAfter, !isFolding {
        let isGapWithin = trace.hasGap && !trace.frames.contains { $0.trust == .afterGap }
        let gap = isGapWithin ? " and a part of the stack that is not in the dump" : ""
        items.append(.elision("... \(trace.omittedCount) frames\(gap) ..."))
      }
      if frame.trust == .afterGap {
        items.append(
          .elision("... a part of the stack that is not in the dump; frames are missing ..."))
      }
      items.append(.frame(frame, number: isCounted ? index : nil))
    }
    if trace.omittedCount > 0, trace.omittedAfter >= trace.frames.count, !isFolding {
      items.append(.elision("... \(trace.omittedCount) frames ..."))
    }
    let bytes = thread.snapshot.stackBytesOmitted
    if bytes > 0 {
      items.append(.note("\(Quantity.size(bytes)) of this stack are not in the dump"))
    }
    if trace.end == .lost, !trace.frames.isEmpty {
      items.append(.note("the stack continues, but its next frame was not found"))
    }
    if let task = thread.task { add(task, of: trace, isCounted: isCounted) }
  }

  /// Adds the suspended functions that wait for one of the thread's functions; the numbers of their frames continue
  /// from that function's number.
  private mutating func add(_ task: ReportTask, of trace: StackTrace, isCounted: Bool) {
    items.append(.note(task.title))
    guard !task.frames.isEmpty else { return }
    let calls = task.calls
    let callee = calls.calleeIndex.flatMap { index in
      trace.frames.indices.contains(index) ? trace.frames[...index] : nil
    }
    var number = callee?.count { !$0.isInlined }
    if let callee, trace.omittedCount > 0, callee.count > trace.omittedAfter {
      number = isCounted ? number.map { $0 + trace.omittedCount } : nil
    }
    let name =
      callee?.last.flatMap { $0.function == nil ? nil : $0.shortName } ?? "the task's function"
    items.append(.elision("awaiting \(name):"))
    for (position, frame) in calls.frames.enumerated() {
      if calls.omittedCount > 0, position == calls.omittedAfter {
        items.append(.elision("... \(calls.omittedCount) frames ..."))
        number = number.map { $0 + calls.omittedCount }
      }
      items.append(.frame(frame, number: number))
      if !frame.isInlined { number = number.map { $0 + 1 } }
    }
    if calls.isCut { items.append(.note("the caller that awaits this one is not in the dump")) }
  }
}

extension ReportTask {
  /// A title for the task, for example "task 7 "import", priority low, cancelled".
  fileprivate var title: String {
    let name = fields?.name.map { " \"\($0)\"" } ?? ""
    let words = [
      "task" + (fields.map { " \($0.id)" } ?? "") + name,
      fields.map { "priority \($0.priorityWord)" },
      fields?.basePriorityWord.map { "made with \($0)" },
      fields?.isCancelled == true ? "cancelled" : nil,
      fields?.isChild == true ? "child task" : nil,
    ]
    return words.compactMap { $0 }.joined(separator: ", ")
  }
}

extension [StackFrame] {
  /// Functions of the C library and of this package that start the program or its threads.
  ///
  /// Such functions do not help to explain a crash, so the short report leaves them out at the end of a stack.
  ///
  /// Source: glibc sysdeps/nptl/libc_start_call_main.h, csu/libc-start.c, nptl/pthread_create.c.
  private static let beginnings: Set = [
    "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3",
    "__clone", "__clone3", "pm_start_thread",
  ]

  /// The index after the last frame whose function is none of `beginnings`; `count` if there is no such frame.
  fileprivate var endOfCalls: Int {
    let last = indices.last { index in
      if Self.isBeginning(self[index]) { return false }
      // In a stripped program, `_start` has no name, so a nameless frame after a function that starts threads is left
      // out too.
      return self[index].function != nil || index == 0 || !Self.isBeginning(self[index - 1])
    }
    return last.map { $0 + 1 } ?? count
  }

  private static func isBeginning(_ frame: StackFrame) -> Bool {
    let name = frame.function?.prefix { $0 != "@" } ?? ""
    return beginnings.contains(String(name)) || name.hasPrefix("__libc_start_main_")
  }
}

/// The frames of a recursion that are replaced with one line.
struct FoldedRecursion {
  /// The number of rounds of a recursion that are shown on each side of the line that replaces the other rounds.
  private static let shownRounds = 2
  /// The minimum number of frames that are replaced with a line.
  private static let fewestFrames = 6

  /// The numbers of the folded frames, counted from the top of the stack without inlined calls.
  let range: Range<Int>
  let text: String

  /// Decides which frames to fold; nil if there are none.
  init?(_ trace: StackTrace) {
    guard let recursion = trace.recursion, recursion.period > 0, recursion.period <= 64 else {
      return nil
    }
    let frames = trace.frames.enumerated().filter { !$0.element.isInlined }
    let listedBefore =
      trace.omittedCount > 0 ? frames.count { $0.offset < trace.omittedAfter } : frames.count
    let margin = recursion.period * Self.shownRounds
    // In a report from a log, the recursion may end with the omitted frames. Then the line that replaces the other
    // rounds is the last line of the recursion.
    let isOpen = recursion.first + recursion.count == listedBefore + trace.omittedCount
    let end = recursion.first + recursion.count - (isOpen && trace.omittedCount > 0 ? 0 : margin)
    guard recursion.first <= listedBefore - recursion.period, recursion.first + margin < end else {
      return nil
    }
    var range = recursion.first + margin..<end
    let omitted = listedBefore..<listedBefore + trace.omittedCount
    let coversOmitted = range.contains(omitted.lowerBound) && range.upperBound >= omitted.upperBound
    if trace.omittedCount > 0, !coversOmitted, range.overlaps(omitted) {
      // The omitted frames are replaced with a separate line. So only listed frames on one side of this line are
      // folded.
      range =
        range.lowerBound < omitted.lowerBound
        ? range.lowerBound..<omitted.lowerBound
        : min(omitted.upperBound, range.upperBound)..<range.upperBound
    }
    guard range.count >= Self.fewestFrames else { return nil }
    let names = frames[recursion.first..<recursion.first + recursion.period].map { frame in
      frame.element.function == nil ? frame.element.address.description : frame.element.shortName
    }
    self.range = range
    let estimated = max(0, recursion.estimatedInGap ?? 0)
    let (sum, isTooMany) = range.count.addingReportingOverflow(estimated)
    let count = Quantity.grouped(isTooMany ? .max : sum)
    let turn = names.count > 1 ? " in turn" : ""
    let start = "... " + (estimated > 0 ? "about \(count)" : count) + " more of "
    let missing = Quantity.grouped(estimated)
    let gap =
      estimated > 0
      ? ", some \(missing) of them in a part of the stack that is not in the dump" : ""
    text = start + names.joined(separator: ", ") + turn + gap + " ..."
  }
}

extension CrashReport {
  /// The threads that did not crash, in groups with the same stack.
  ///
  /// Groups whose stack contains the program's own code come first.
  func otherThreads(_ ownCode: OwnCode) -> [ThreadGroup] {
    let groups = ThreadGroup.groups(of: threads.filter { !$0.crashed })
    let (own, others) = groups.reduce(into: ([ThreadGroup](), [ThreadGroup]())) { parts, group in
      let frames = group.threads.first.map { $0.frames + ($0.task?.frames ?? []) } ?? []
      if frames.contains(where: ownCode.isEmphasized) {
        parts.0.append(group)
      } else {
        parts.1.append(group)
      }
    }
    return own + others
  }
}

/// Threads with the same stack, which means that their frames have the same addresses.
struct ThreadGroup {
  var threads: [ReportThread]

  /// Groups threads by their stacks; the groups are in the order of their first threads.
  ///
  /// A thread without frames, or with missing frames, is a separate group, because its whole stack cannot be compared.
  static func groups(of threads: [ReportThread]) -> [ThreadGroup] {
    var groups: [ThreadGroup] = []
    var known: [[Address]: Int] = [:]
    for thread in threads {
      // Threads with missing frames are not grouped, because the missing frames may differ.
      let trace = thread.trace
      let isWhole = !trace.frames.isEmpty && trace.omittedCount == 0 && !trace.hasGap
      let key = trace.frames.map(\.address)
      if isWhole, let index = known[key] {
        groups[index].threads.append(thread)
        continue
      }
      if isWhole { known[key] = groups.count }
      groups.append(ThreadGroup(threads: [thread]))
    }
    return groups
  }
}
