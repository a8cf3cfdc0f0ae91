extension CrashReport {
  /// What comes first: what happened in one sentence, what is known of the cause, and the facts.
  ///
  /// Its words are raw, as those of a section.
  struct Head: Sendable, Equatable {
    /// The message, else the explanation.
    var sentence: String
    /// What else must not be missed, a paragraph each.
    var paragraphs: [String]
    /// What the kernel says of it, the signal first, and what became of the process.
    var signs: [ReportField]
    /// Who crashed, when and on what.
    var facts: [ReportField]
  }

  var head: Head {
    var paragraphs: [String] = []
    if message != nil, let explanation { paragraphs.append(explanation) }
    if !complete {
      let damage = capture.damage.map { ": \($0)" } ?? ""
      paragraphs.append("This dump is torn and holds only what came before its end\(damage).")
    }
    let signs: [(String, String?)] = [
      ("Signal", signalText), ("Address", exception?.address?.description),
      ("Access", exception?.access), ("Cause", cause.map { "\($0.kind), \($0.certainty)" }),
      ("Sent by", senderText),
      ("Outcome", survival?.outcomeText), ("Before it", survival?.earlierText),
      ("Certainty", end?.certainty), ("Hang", end?.hangReport.map { "report \($0)" }),
    ]
    let facts: [(String, String?)] = [
      ("Process", processText), ("Product", productText), ("Time", timeText),
      ("System", systemText), ("Processor", processorText), ("Compiler", system.compiler),
      ("Arguments", argumentsText), ("Signature", signature), ("Report", reportID),
    ]
    func known(_ fields: [(String, String?)]) -> [ReportField] {
      fields.compactMap { name, value in value.map { ReportField(name: name, value: $0) } }
    }
    return Head(
      sentence: message ?? explanation ?? "The dump does not show the cause.",
      paragraphs: paragraphs, signs: known(signs), facts: known(facts))
  }

  var signalText: String? {
    guard request == nil, let exception else { return nil }
    guard let signal = exception.signal else { return "unknown" }
    let code = exception.codeName ?? exception.code.map { "code \($0)" }
    return (exception.signalName ?? "signal") + " (\(signal))" + (code.map { ", \($0)" } ?? "")
  }

  private var senderText: String? {
    guard let sender = exception?.sender else { return nil }
    if let own = process.pid, Int64(own) == Int64(sender.pid) { return "the process itself" }
    let name = sender.name.map { " (\($0))" } ?? ""
    return "process \(sender.pid)\(name) of user \(sender.uid)"
  }

  private var processText: String? {
    guard process.executable != nil || process.pid != nil else { return nil }
    let identity = process.pid.map { "process \($0)" }
    let parent = process.parent.map { "parent \($0)" }
    return [process.executable, identity, parent].compactMap { $0 }.joined(separator: ", ")
  }

  private var productText: String? {
    let parts = [process.product, process.version, process.environment].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private var timeText: String? {
    guard let crash = process.crashTime else { return nil }
    guard let launch = process.launchTime else { return crash.readable }
    let (nanoseconds, overflow) = crash.nanoseconds.subtractingReportingOverflow(launch.nanoseconds)
    guard !overflow, nanoseconds >= 0 else { return crash.readable }
    return crash.readable + ", " + TextReport.duration(nanoseconds) + " after launch"
  }

  private var systemText: String? {
    let kernel = [system.kernelName, system.kernelRelease].compactMap { $0 }.joined(separator: " ")
    let parts = [system.distribution, kernel.isEmpty ? nil : kernel, system.architecture]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }

  private var processorText: String? {
    let count = system.processorCount.map { "\($0) online" }
    let parts = [system.processorModel, count].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// The arguments without the program's name, quoted where a blank or a quote would mislead.
  private var argumentsText: String? {
    guard let arguments = process.arguments, arguments.count > 1 else { return nil }
    return arguments.dropFirst().map { argument in
      let isPlain = !argument.isEmpty && !argument.contains { " \"'\\".contains($0) }
      return isPlain ? argument : "\"\(argument)\""
    }.joined(separator: " ")
  }
}
