/// A report as text for a terminal: the cause first, then the crashing thread, then everything
/// else.
///
/// Text from the dump is escaped, so that a thread's name cannot steer the terminal.
public struct TextReport: Sendable {
  let report: CrashReport
  private let width: Int
  private let usesColor: Bool
  var lines: [String] = []

  /// The whole report.
  ///
  /// - Parameters:
  ///   - report: what to print.
  ///   - width: columns of the terminal; at least 40 are used. Names are not cut, prose is wrapped.
  ///   - color: whether to use SGR escape sequences.
  /// - Returns: lines that each end in a line feed.
  public static func text(of report: CrashReport, width: Int = 80, color: Bool = false) -> String {
    var text = TextReport(report: report, width: max(width, 40), usesColor: color)
    text.addHead()
    text.addThreads()
    text.addResources()
    text.addAnnotations()
    text.addClient()
    text.addModules()
    text.addCapture()
    return text.lines.map { $0 + "\n" }.joined()
  }

  private init(report: CrashReport, width: Int, usesColor: Bool) {
    self.report = report
    self.width = width
    self.usesColor = usesColor
  }

  private mutating func addHead() {
    let sentence = report.message ?? report.explanation ?? "The dump does not show the cause."
    let safe = sentence.escapedForTerminal(keepingLines: true)
    for line in safe.split(separator: "\n", omittingEmptySubsequences: false) {
      lines += Self.wrapped(String(line), width: width).map { styled($0, .strong) }
    }
    if report.message != nil, let explanation = report.explanation {
      lines += Self.wrapped(explanation.escapedForTerminal(), width: width)
    }
    if !report.complete {
      let damage = report.capture.damage.map { ": \($0.escapedForTerminal())" } ?? ""
      lines += Self.wrapped(
        "This dump is torn and holds only what came before its end\(damage).", width: width)
    }
    lines.append("")
    addField("Signal", signalText)
    addField("Address", report.exception?.address?.description)
    addField("Access", report.exception?.access)
    addField("Sent by", senderText)
    addField("Outcome", report.survival?.outcomeText)
    addField("Before it", report.survival?.earlierText)
    addField("Process", processText)
    addField("Product", productText)
    addField("Time", timeText)
    addField("System", systemText)
    addField("Processor", processorText)
    addField("Compiler", report.system.compiler)
    addField("Arguments", argumentsText)
    addField("Signature", report.signature)
    addField("Report", report.reportID)
  }

  private mutating func addField(_ name: String, _ value: String?) {
    guard let value else { return }
    let label = name + String(repeating: " ", count: max(1, 11 - name.count))
    lines.append(styled(label, .faint) + value.escapedForTerminal())
  }

  private var signalText: String? {
    guard report.request == nil, let exception = report.exception else { return nil }
    guard let signal = exception.signal else { return "unknown" }
    let code = exception.codeName ?? exception.code.map { "code \($0)" }
    return (exception.signalName ?? "signal") + " (\(signal))" + (code.map { ", \($0)" } ?? "")
  }

  private var senderText: String? {
    guard let sender = report.exception?.sender else { return nil }
    if let own = report.process.pid, Int64(own) == Int64(sender.pid) { return "the process itself" }
    return "process \(sender.pid) of user \(sender.uid)"
  }

  private var processText: String? {
    let process = report.process
    guard process.executable != nil || process.pid != nil else { return nil }
    let identity = process.pid.map { "process \($0)" }
    let parent = process.parent.map { "parent \($0)" }
    return [process.executable, identity, parent].compactMap { $0 }.joined(separator: ", ")
  }

  private var productText: String? {
    let process = report.process
    let parts = [process.product, process.version, process.environment].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private var timeText: String? {
    let process = report.process
    guard let crash = process.crashTime else { return nil }
    guard let launch = process.launchTime else { return crash.readable }
    let (nanoseconds, overflow) = crash.nanoseconds.subtractingReportingOverflow(launch.nanoseconds)
    guard !overflow, nanoseconds >= 0 else { return crash.readable }
    return crash.readable + ", " + Self.duration(nanoseconds) + " after launch"
  }

  private var systemText: String? {
    let system = report.system
    let kernel = [system.kernelName, system.kernelRelease].compactMap { $0 }.joined(separator: " ")
    let parts = [system.distribution, kernel.isEmpty ? nil : kernel, system.architecture]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }

  private var processorText: String? {
    let count = report.system.processorCount.map { "\($0) online" }
    let parts = [report.system.processorModel, count].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// The arguments without the program's name, quoted where a blank or a quote would mislead.
  private var argumentsText: String? {
    guard let arguments = report.process.arguments, arguments.count > 1 else { return nil }
    return arguments.dropFirst().map { argument in
      let isPlain = !argument.isEmpty && !argument.contains { " \"'\\".contains($0) }
      return isPlain ? argument : "\"\(argument)\""
    }.joined(separator: " ")
  }

  private mutating func addThreads() {
    for thread in report.threads {
      lines.append("")
      lines.append(styled(title(thread), thread.crashed ? .strong : .plain))
      addFrames(thread)
      if thread.crashed { addRegisters(thread) }
    }
    if let omitted = report.capture.threadsOmitted, omitted > 0 {
      lines.append("")
      lines.append("\(omitted) more threads are not in the dump.")
    }
    if let unlisted = report.capture.threadsUnlisted, unlisted > 0 {
      lines.append("")
      lines.append("\(unlisted) threads have no registers and stack in the minidump.")
    }
  }

  private func title(_ thread: CrashReport.Thread) -> String {
    let name = thread.name.map { " \"\($0.escapedForTerminal())\"" } ?? ""
    let verb = thread.crashed ? " \(verb)" : ""
    let how = thread.crashed && report.request == nil ? nil : thread.capturedBy
    let state = thread.state.map { "state \($0.escapedForTerminal())" }
    let call = thread.systemCall.map { call in
      "in " + (call.name.map { $0.escapedForTerminal() } ?? "system call \(call.number)")
    }
    let nice = thread.niceValue.flatMap { $0 == 0 ? nil : "nice \($0)" }
    let policy = thread.schedulingPolicy.flatMap { $0 == "other" ? nil : $0.escapedForTerminal() }
    let notes = [how, state, call, policy, nice].compactMap { $0 }.joined(separator: ", ")
    return "Thread \(thread.id)\(name)\(verb)" + (notes.isEmpty ? ":" : " (\(notes)):")
  }

  /// What the first thread did.
  private var verb: String {
    guard let request = report.request else { return "crashed" }
    guard request.kind == "hang" else { return "requested the dump" }
    return switch request.threadEvidence {
    case "known": "hung"
    case "last-seen": "answered last"
    default: "monitored"
    }
  }

  private mutating func addFrames(_ thread: CrashReport.Thread) {
    if thread.frames.isEmpty { lines.append("  no stack") }
    let folded = FoldedRecursion(thread)
    // Behind a gap no frame's number is known.
    var isCounted = true
    var isFolding = false
    var depth = 0
    for (position, frame) in thread.frames.enumerated() {
      let isBelowOmitted = thread.framesOmitted > 0 && position >= thread.framesOmittedAfter
      let index = depth + (isBelowOmitted ? thread.framesOmitted : 0)
      if frame.inlined != true { depth += 1 }
      if frame.trust == "after-gap" || (isBelowOmitted && thread.stackGap) { isCounted = false }
      if let folded, folded.range.contains(index) {
        if !isFolding { lines.append(folded.text) }
        isFolding = true
        continue
      }
      if thread.framesOmitted > 0, position == thread.framesOmittedAfter, !isFolding {
        let isGapWithin = thread.stackGap && !thread.frames.contains { $0.trust == "after-gap" }
        let gap = isGapWithin ? " and a part of the stack that is not in the dump" : ""
        lines.append("  ... \(thread.framesOmitted) frames\(gap) ...")
      }
      if frame.trust == "after-gap" {
        lines.append("  ... a part of the stack that is not in the dump; frames are missing ...")
      }
      addFrame(frame, index: isCounted ? index : nil)
    }
    if let omitted = thread.stackBytesOmitted, omitted > 0 {
      lines.append(styled("  \(Self.size(omitted)) of this stack are not in the dump", .faint))
    }
    if thread.stackEnd == "lost", !thread.frames.isEmpty {
      lines.append(styled("  the stack goes on; its next frame was not found", .faint))
    }
  }

  private mutating func addFrame(_ frame: CrashReport.Frame, index: Int?) {
    let number = index.map { String($0) } ?? "?"
    let prefix = "  #" + number + String(repeating: " ", count: max(1, 4 - number.count))
    var text = frame.function.map(FunctionName.short) ?? "??"
    if let line = frame.line, let file = frame.file {
      let column = frame.column.map { ":\($0)" } ?? ""
      text += frame.lineApproximate == true ? " near " : " at "
      text += "\(Self.shortPath(file)):\(line)\(column)"
    } else if let offset = frame.functionOffset {
      text += " + \(offset.value)"
    }
    let place = frame.module.map { module in
      "  \(module)" + (frame.moduleOffset.map { "+\($0)" } ?? "")
    }
    // The two words that say that a frame may be wrong.
    let doubt = frame.trust == "scan" ? "  [scan]" : frame.inlined == true ? "  [inlined]" : ""
    lines.append(
      prefix + styled(frame.address.padded, .faint) + " " + text.escapedForTerminal()
        + styled((place ?? "").escapedForTerminal(), .faint) + doubt)
  }

  /// The file and its folder, which mostly tell it from others of its name.
  static func shortPath(_ path: String) -> String {
    path.split(separator: "/").suffix(2).joined(separator: "/")
  }

  private mutating func addRegisters(_ thread: CrashReport.Thread) {
    guard !thread.registers.isEmpty else { return }
    lines.append("")
    lines.append("Registers:")
    let cells = thread.registers.keys.sorted(by: Self.registerOrder).map { name in
      let label = String(repeating: " ", count: max(0, 6 - name.count)) + name
      let digits = String(thread.registers[name]?.value ?? 0, radix: 16)
      return label + " " + String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }
    let columns = max(1, (width - 1) / 24)
    for start in stride(from: 0, to: cells.count, by: columns) {
      lines.append(cells[start..<min(start + columns, cells.count)].joined(separator: " "))
    }
  }

  /// rax before r8 before r10: names without a number, then by number.
  private static func registerOrder(_ left: String, _ right: String) -> Bool {
    func key(_ name: String) -> (Int, String) {
      (Int(name.drop { !$0.isNumber }) ?? -1, name)
    }
    return key(left) < key(right)
  }

  private mutating func addModules() {
    guard !report.modules.isEmpty else { return }
    let used = Set(report.threads.flatMap { $0.frames.compactMap(\.module) })
    lines.append("")
    lines.append("Modules on the stacks (of \(report.modules.count)):")
    for module in report.modules {
      guard let name = module.path.split(separator: "/").last, used.contains(String(name)) else {
        continue
      }
      let buildID = module.buildID.map { " \($0)" } ?? " no build ID"
      let deleted = module.deleted ? " (deleted)" : ""
      lines.append(
        "  \(module.base.padded)\(buildID) \(module.path.escapedForTerminal())\(deleted)")
      if let note = module.symbolNote { lines.append("    \(note.escapedForTerminal())") }
    }
  }

  private mutating func addCapture() {
    let capture = report.capture
    var notes: [String] = []
    if let found = capture.threadsFound, let stopped = capture.threadsStopped {
      let fromKernel = capture.threadsReadFromKernel ?? 0
      notes.append(
        "\(found) threads found, \(stopped) stopped"
          + (fromKernel > 0 ? ", \(fromKernel) read through the kernel" : ""))
    }
    if let time = capture.captureTime {
      notes.append("captured in \(Self.duration(Int64(clamping: time)))")
    }
    if let bytes = capture.bytesOmitted, bytes > 0 { notes.append("\(bytes) bytes left out") }
    if let modules = capture.modulesUnlisted, modules > 0 {
      notes.append("\(modules) modules not in the minidump's list")
    }
    if let regions = capture.regionsUnlisted, regions > 0 {
      notes.append("\(regions) memory regions not in the minidump")
    }
    if let sections = capture.sectionsAbandoned, sections.value != 0 {
      notes.append("sections abandoned: \(sections)")
    }
    guard !notes.isEmpty else { return }
    lines.append("")
    lines += Self.wrapped("Capture: " + notes.joined(separator: "; ") + ".", width: width)
  }

  private enum Style: String {
    case plain = ""
    case strong = "1"
    case faint = "2"
  }

  private func styled(_ text: String, _ style: Style) -> String {
    usesColor && style != .plain && !text.isEmpty
      ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Breaks prose at blanks; a word that is too long stays whole, so that it can be copied.
  static func wrapped(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
    return lines
  }

  static func duration(_ nanoseconds: Int64) -> String {
    switch nanoseconds {
    case ..<1_000_000: "\(nanoseconds / 1_000) us"
    case ..<10_000_000_000: "\(nanoseconds / 1_000_000) ms"
    case ..<7_200_000_000_000: "\(nanoseconds / 1_000_000_000) s"
    default: "\(nanoseconds / 3_600_000_000_000) h"
    }
  }
}
