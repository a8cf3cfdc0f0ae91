internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump
internal import ProcessSnapshot

/// The kind of event that a report describes: a crash, a hang, a requested dump, or the end of a run.
struct SentryKind {
  let report: CrashReport
  private var snapshot: ProcessSnapshot { report.snapshot }

  /// Sentry's word for the severity of the event.
  ///
  /// Source: develop.sentry.dev, "Event Payloads", Level.
  var level: String {
    if let end = snapshot.end {
      switch end.kind {
      case .outOfMemory, .killed, .hungThenKilled: return "fatal"
      case .rebooted, .replaced: return "warning"
      case .stopTimeout, .unexplained, nil: return "error"
      }
    }
    switch snapshot.request?.kind {
    case .hang: return snapshot.request?.end == nil ? "error" : "fatal"
    case .program: return "warning"
    case .tool, .coreFile: return "info"
    case nil: return snapshot.isQuitRequest ? "info" : snapshot.request == nil ? "fatal" : "warning"
    }
  }

  /// The type of the event's exception, which Sentry shows as the first word of the event's title.
  private var type: String {
    if let end = snapshot.end { return "RunEnd.\(end.word)" }
    if let request = snapshot.request {
      if request.kind == .hang { return "Hang" }
      return request.errorType ?? "Dump"
    }
    return snapshot.exception?.signal.map(SignalNames.text) ?? "Crash"
  }

  private var text: String? { report.message ?? report.explanation }

  /// The exceptions of the event; servers show the last one in the event's title.
  func exceptions(_ frames: SentryFrames) -> [SentryValue] {
    var values: [SentryValue] = []
    if let thrown = report.thrown {
      values.append([
        "type": "Thrown here",
        "value": "The uncaught error was thrown here.",
        "thread_id": SentryValue(thrown.record.threadID),
        "stacktrace": frames.stacktrace(thrown.frames),
        "mechanism": ["type": "swift-throw", "handled": true],
      ])
    }
    let crashed = report.threads.first { $0.crashed }
    values.append([
      "type": .text(SentryLimits.cut(type, SentryLimits.exceptionType)),
      "value": text.map { .text(SentryLimits.cut($0, SentryLimits.message)) },
      "thread_id": crashed.map { SentryValue($0.id) },
      "stacktrace": crashed.flatMap { frames.stacktrace(of: $0) },
      "mechanism": mechanism,
    ])
    return values
  }

  /// Source: develop.sentry.dev, "Exception Interface", Exception Mechanism.
  private var mechanism: SentryValue {
    if let end = snapshot.end {
      return [
        "type": "run-end", "handled": false,
        "data": ["kind": end.kind.map { .text($0.word) }],
        "meta": end.signal.map { ["signal": signal($0)] },
      ]
    }
    if let request = snapshot.request {
      return [
        "type": request.kind == .hang ? "hang" : "requested-dump", "handled": true,
      ]
    }
    let exception = snapshot.exception
    return [
      "type": snapshot.isQuitRequest ? "quit-request" : "signalhandler",
      "handled": .bool(snapshot.isQuitRequest),
      "description": report.message == nil
        ? nil : report.explanation.map { .text(SentryLimits.cut($0, SentryLimits.text)) },
      "meta": exception?.signal.map { ["signal": signal($0, code: exception?.code)] },
      "data": exception?.address.map { ["relevant_address": .text($0.description)] },
    ]
  }

  private func signal(_ number: Int32, code: Int32? = nil) -> SentryValue {
    [
      "number": SentryValue(number),
      "name": SignalNames.name(number).map { .text($0) },
      "code": code.map { SentryValue($0) },
      "code_name": code.flatMap { SignalNames.codeName(signal: number, code: $0) }
        .map { .text($0) },
    ]
  }
}
