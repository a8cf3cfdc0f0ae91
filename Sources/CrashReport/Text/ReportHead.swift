internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// The first part of text and page: a sentence on the event, the cause as far as it is known, and
  /// the facts.
  ///
  /// Its words are raw, as those of a section.
  struct Head: Sendable, Equatable {
    /// The message, else the explanation.
    var sentence: String
    /// The place in the program's own code, such as "in App.run() at main.swift:28".
    var place: String?
    /// Paragraphs that must not be missed.
    var paragraphs: [String]
    /// The signal, the cause, and what became of the process.
    var signs: [ReportField]
    /// Process, time and system.
    var facts: [ReportField]
  }

  var head: Head {
    let explanation = explanation
    var paragraphs: [String] = []
    if message != nil, let explanation { paragraphs.append(explanation) }
    if log != nil {
      if !snapshot.capture.isComplete {
        paragraphs.append(snapshot.capture.damage ?? "The log breaks off in the summary.")
      }
    } else if !snapshot.capture.isComplete {
      let damage = snapshot.capture.damage.map { ": \($0)" } ?? ""
      paragraphs.append("This dump is torn and holds only what came before its end\(damage).")
    }
    if !snapshot.capture.partsNotShown.isEmpty {
      paragraphs.append(
        "/proc was closed to the process: what it tells is unknown, and not none "
          + "(\(snapshot.capture.unknownText)).")
    }
    for message in otherMessages {
      paragraphs.append("Also written, by another thread or before: \(message)")
    }
    if let privacy = snapshot.process.privacy { paragraphs.append(privacy.sentence) }
    let system = snapshot.system
    let survival = snapshot.survival
    let signs: [(String, String?)] = [
      (snapshot.exception?.foreign == nil ? "Signal" : "Exception", signalText),
      ("Address", snapshot.exception?.address?.description),
      ("Error", errorText), ("Access", snapshot.exception.flatMap { MemoryAccess($0)?.rawValue }),
      ("Cause", cause.map { "\($0.kind), \($0.certainty.rawValue)" }), ("Sent by", senderText),
      ("Outcome", survival?.outcomeText(handlerIn: previousHandlerModule)),
      ("Before it", survival?.earlierText), ("Certainty", snapshot.end?.certainty?.word),
      ("Hang", snapshot.end?.hangReport.map { "report \($0)" }),
    ]
    let facts: [(String, String?)] = [
      ("Process", processText), ("Product", productText), ("Time", timeText),
      ("System", systemText), ("Processor", processorText),
      ("Compiler", system.swiftVersion.map { "Swift \($0)" }),
      ("Host", hostText), ("User", userText), ("Directory", snapshot.process.workingDirectory),
      ("Arguments", argumentsText), ("Signature", signature),
      ("Report", snapshot.reportID?.description),
    ]
    func known(_ fields: [(String, String?)]) -> [ReportField] {
      fields.compactMap { name, value in value.map { ReportField(name: name, value: $0) } }
    }
    return Head(
      sentence: message ?? explanation
        ?? "The \(log == nil ? "dump" : "log") does not show the cause.",
      place: place.map { "in \($0)" }, paragraphs: paragraphs, signs: known(signs),
      facts: known(facts))
  }

  /// The error that the program passed with a request for a dump.
  private var errorText: String? {
    guard let request = snapshot.request else { return nil }
    return Self.list([request.errorType, request.errorText], separator: ": ")
  }

  /// Such as "SIGSEGV (11), SEGV_MAPERR".
  var signalText: String? {
    guard snapshot.request == nil, let exception = snapshot.exception else { return nil }
    if let foreign = exception.foreign { return foreign.text }
    guard let signal = exception.signal else { return "unknown" }
    let code = exception.code.map {
      ", " + (SignalNames.codeName(signal: signal, code: $0) ?? "code \($0)")
    }
    return "\(SignalNames.name(signal) ?? "signal") (\(signal))\(code ?? "")"
  }

  /// The file name of the module that the handler before ours lies in.
  var previousHandlerModule: String? {
    snapshot.survival?.previousHandler.flatMap(snapshot.module(containing:))?.name
  }

  private var senderText: String? {
    let isOwn = snapshot.isOwnProcess(snapshot.exception?.sender)
    return isOwn ? "the process itself" : snapshot.exception?.namedSender?.text
  }

  private var processText: String? {
    let process = snapshot.process
    guard process.executablePath != nil || process.processID != nil else { return nil }
    let identity = process.processID.map { "process \($0)" }
    let parent = process.parentProcessID.map { "parent \($0)" }
    return Self.list([process.executablePath, identity, parent])
  }

  private var productText: String? {
    let process = snapshot.process
    return Self.list([process.product, process.version, process.environment])
  }

  private var timeText: String? {
    guard let crash = snapshot.process.crashTime else { return nil }
    let text = Timestamp(nanoseconds: crash).readable
    let process = snapshot.process
    let age = process.age.map {
      $0 == 0
        ? "the process less than 10 ms old"
        : "the process \(Quantity.duration(Int64(clamping: $0))) old"
    }
    let sinceStart =
      process.uptime.map { Int64(clamping: $0) }
      ?? process.launchTime.flatMap { launch in
        let (nanoseconds, overflow) = crash.subtractingReportingOverflow(launch)
        return overflow || nanoseconds < 0 ? nil : nanoseconds
      }
    return Self.list([text, age, sinceStart.map { Quantity.duration($0) + " after startHandler" }])
  }

  private var systemText: String? {
    let system = snapshot.system
    let kernel = Self.list([system.kernelName, system.kernelRelease], separator: " ")
    return Self.list([system.distribution, kernel, snapshot.architecture.rawValue])
  }

  private var processorText: String? {
    let system = snapshot.system
    return Self.list([system.processorModel, system.processorCount.map { "\($0) online" }])
  }

  /// The parts that are known; nil where none is.
  static func list(_ parts: [String?], separator: String = ", ") -> String? {
    let text = parts.compactMap { $0 }.joined(separator: separator)
    return text.isEmpty ? nil : text
  }

  /// The arguments without the program's name, quoted where a blank or a quote would mislead.
  private var argumentsText: String? {
    guard let arguments = snapshot.process.arguments, arguments.count > 1 else { return nil }
    return arguments.dropFirst().map { argument in
      let isPlain = !argument.isEmpty && !argument.contains { " \"'\\".contains($0) }
      return isPlain ? argument : "\"\(argument)\""
    }.joined(separator: " ")
  }
}

extension ReportPrivacy {
  fileprivate var sentence: String {
    "This report is \(self == .sanitized ? "sanitized" : "without memory"): values that may be secrets "
      + "were left out, or replaced by 0x0defaced0defaced."
  }
}
