internal import CrashAnalysis
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

extension CrashReport {
  /// The first part of a report as text or HTML: a sentence that says what happened, the cause if it is known, and
  /// the main facts.
  ///
  /// As in a `ReportSection`, the text is not escaped.
  struct Head: Sendable, Equatable {
    /// The message of the program or a runtime, otherwise a sentence about the event.
    var sentence: String
    /// Where the crash occurred, such as "in App.run() at main.swift:28"; nil if this is not known, for example for
    /// some hangs.
    ///
    /// For a run that left no dump, `place` is the program and the time from the start of the handler to the last
    /// heartbeat.
    var place: String?
    /// The values set by the `withContext` calls around the crashed code, such as the ID of a request.
    var contexts: [ReportField]
    /// Paragraphs with warnings.
    var paragraphs: [String]
    /// Fields such as the signal, the cause, and whether the process continued.
    var signs: [ReportField]
    /// Fields such as the process, the time and the system.
    var facts: [ReportField]
  }

  /// Makes the head of the report.
  ///
  /// - Parameter isFull: true to include facts that the text format shows only with `--full`.
  func head(isFull: Bool) -> Head {
    let told = verdict.message != nil && verdict.cause?.isToldByMessage == true
    let sentences = told ? objectSentences + snapshot.shortages.map(\.text) : explanationSentences
    // The head of a dump that a tool requested is what keeps the process from continuing; how the dump was requested
    // follows.
    let waits = waitSentences
    let isEventFirst = snapshot.request.map { $0.kind == .hang } ?? true
    let first = isEventFirst ? sentences.first ?? waits.first : waits.first ?? sentences.first
    let sentence = headline ?? first
    let rest = (
      waits: waits.filter { $0 != sentence }, details: sentences.filter { $0 != sentence }
    )
    return Head(
      sentence: sentence ?? "The dump does not show the cause.",
      place: headPlace, contexts: threads.first(where: \.crashed)?.contextFields ?? [],
      paragraphs: rest.waits
        + (rest.details.isEmpty ? notes : [rest.details.joined(separator: " ")] + notes),
      signs: signs(isFull: isFull), facts: facts(isFull: isFull))
  }

  /// The message; its file and line are removed if they do not help the reader.
  ///
  /// The file and line do not help if they belong to Swift's library, or if `place` already shows them.
  private var headline: String? {
    guard let message = verdict.message, let end = message.firstIndex(of: " "),
      message[..<end].hasSuffix(":")
    else {
      return verdict.message
    }
    let position = message[..<end].dropLast()
    guard position.contains(".swift:") else { return message }
    let file = position.split(separator: "/").last ?? position
    let isTold =
      RuntimeCode.isModule(position.prefix { $0 != "/" })
      || verdict.place?.hasSuffix(" at \(file)") == true
    return isTold ? String(message[message.index(after: end)...]) : message
  }

  /// Paragraphs with warnings, for example that the dump is incomplete.
  private var notes: [String] {
    var paragraphs: [String] = []
    if !snapshot.capture.isComplete {
      let damage = snapshot.capture.damage.map { ": \($0)" } ?? ""
      paragraphs.append("This dump is torn and holds only what came before its end\(damage).")
    }
    if let failed = snapshot.capture.failedPartsText { paragraphs.append(failed) }
    if !snapshot.capture.partsNotShown.isEmpty {
      paragraphs.append(
        "The process could not read /proc: what is missing here is unknown, not absent "
          + "(\(snapshot.capture.unknownText)).")
    }
    for message in verdict.otherMessages {
      paragraphs.append("Also written, by another thread or earlier: \(message)")
    }
    if let privacy = snapshot.process.privacy { paragraphs.append(privacy.sentence) }
    if snapshot.isUploaderCrash {
      paragraphs.append(
        "This thread is the uploader of swift-postmortem. If it crashes twice without an upload in between, this "
          + "build of the program uploads nothing for 24 hours; a separate process can upload: postmortem watch."
      )
    }
    return paragraphs
  }

  private func signs(isFull: Bool) -> [ReportField] {
    let survival = snapshot.survival
    return Self.known([
      (snapshot.exception?.foreign == nil ? "Signal" : "Exception", signalText),
      ("Address", isFull || !isAddressOfTrap ? snapshot.exception?.address?.description : nil),
      ("Error", errorText), ("Access", snapshot.exception.flatMap { MemoryAccess($0)?.rawValue }),
      ("Cause", verdict.cause.map { "\($0.kind), \($0.certainty.word)" }),
      ("Sent by", senderText),
      (
        "Outcome",
        snapshot.request?.end?.hangText ?? survival?.outcomeText(handlerIn: previousHandlerModule)
      ),
      ("Before it", survival?.earlierText),
      ("Certainty", snapshot.end?.certainty?.word),
    ])
  }

  private func facts(isFull: Bool) -> [ReportField] {
    Self.known([
      ("Process", processText), ("Product", productText), ("Time", timeText),
      ("System", systemText), ("Processor", processorText),
      ("Compiler", isFull ? snapshot.system.swiftVersion.map { "Swift \($0)" } : nil),
      ("Host", hostText), ("User", userText), ("Directory", snapshot.process.workingDirectory),
      ("Arguments", argumentsText), ("Signature", verdict.signature),
      ("Report", snapshot.reportID?.description),
      ("Made from", snapshot.capture.isCoreFile ? "a core file" : nil),
    ])
  }

  private static func known(_ fields: [(String, String?)]) -> [ReportField] {
    fields.compactMap { name, value in value.map { ReportField(name: name, value: $0) } }
  }

  /// True for a SIGILL, SIGTRAP or SIGFPE whose address is the address of the instruction that raised the signal.
  private var isAddressOfTrap: Bool {
    guard let exception = snapshot.exception, let signal = exception.signal else { return false }
    return [SIGILL, SIGTRAP, SIGFPE].contains(signal)
      && exception.address == exception.context?.instructionPointer
  }

  private var headPlace: String? {
    if snapshot.end != nil { return Self.list([productText ?? programName, sinceStartText]) }
    // The sentences about a standstill name the places; the place of the report is where the main thread is.
    if snapshot.request?.kind == .tool || snapshot.request?.kind == .coreFile,
      let kind = standstill?.kind, kind != .deadlock, kind != .none
    {
      return nil
    }
    let frames = placeFrames
    let ownCode = verdict.ownCode
    let nameless = ownCode.nameless(in: frames).map(ownCode.line)
    if let nameless, verdict.place == nil || verdict.place == nameless {
      return "in \(nameless) (no symbols)"
    }
    if let place = verdict.place { return "in \(place)" }
    let named = frames.filter { $0.moduleIndex != nil && $0.function != nil }
    guard let frame = named.first(where: ownCode.isOfDependency) ?? named.first else { return nil }
    let module = snapshot.modules.module(of: frame).map { " (\($0.name))" } ?? ""
    return "in \(ownCode.line(of: frame))\(module)"
  }

  /// The stack from which the report's `place` is taken; empty if `place` is not taken from a stack.
  private var placeFrames: [StackFrame] {
    switch verdict.placeSource {
    case .ownStack: threads.first(where: \.crashed)?.frames ?? []
    case .wait, .mainThread:
      threads.first { $0.id == verdict.placeSource.threadID }?.frames ?? []
    case .task, .unknown: []
    }
  }

  /// The executable's file name.
  private var programName: String? {
    snapshot.process.executablePath?.split(separator: "/").last.map(String.init)
  }

  /// The error that the program passed with a request for a dump.
  private var errorText: String? {
    guard let request = snapshot.request else { return nil }
    return Self.list([request.errorType, request.errorText], separator: ": ")
  }

  /// The signal and its code as text, for example "SIGSEGV (11), SEGV_MAPERR".
  var signalText: String? {
    guard snapshot.request == nil, let exception = snapshot.exception else { return nil }
    if let foreign = exception.foreign { return foreign.text }
    guard let signal = exception.signal else { return "unknown" }
    let code = exception.code.map {
      ", " + (SignalNames.codeName(signal: signal, code: $0) ?? "code \($0)")
    }
    return "\(SignalNames.name(signal) ?? "signal") (\(signal))\(code ?? "")"
  }

  /// The file name of the module that contains the previous handler.
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
    return Self.list([text, age, sinceStartText])
  }

  /// The time from the start of the handler to the crash, such as "231 ms after startHandler".
  ///
  /// For a run without a dump, the time ends at the last heartbeat.
  private var sinceStartText: String? {
    let process = snapshot.process
    let sinceStart =
      process.uptime.map { Int64(clamping: $0) }
      ?? process.launchTime.flatMap { launch -> Int64? in
        guard let crash = process.crashTime else { return nil }
        let (nanoseconds, overflow) = crash.subtractingReportingOverflow(launch)
        return overflow || nanoseconds < 0 ? nil : nanoseconds
      }
    return sinceStart.map { Quantity.duration($0) + " after startHandler" }
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

  /// Joins the known parts with a separator; nil if no part is known.
  static func list(_ parts: [String?], separator: String = ", ") -> String? {
    let text = parts.compactMap { $0 }.joined(separator: separator)
    return text.isEmpty ? nil : text
  }

  /// The command-line arguments without the program's name; an empty argument, or one with a space, a quotation mark or
  /// a backslash, is quoted.
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
