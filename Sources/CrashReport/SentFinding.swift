internal import ProcessSnapshot

/// Explains a signal that a process sent, this one or another.
struct SentFinding {
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]

  static let fileSizeLimit = Finding(
    kind: "file-size-limit",
    text: "A write would have made a file larger than the process' limit (RLIMIT_FSIZE) allows.",
    evidence: ["signal SIGXFSZ"])

  func finding(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding? {
    let isOwn = snapshot.isOwnProcess(exception.sender)
    if signal == SignalNames.fileSize, exception.code == 0, isOwn {
      // The kernel sends it with the code of kill().
      return Self.fileSizeLimit
    }
    guard isOwn else { return fromOutside(exception, signal) }
    if signal == SignalNames.pipe {
      return Finding(
        kind: "broken-pipe", text: "A write to a pipe or socket that nobody reads any more.",
        evidence: ["signal SIGPIPE, SI_USER from the process itself"])
    }
    let name = SignalNames.name(signal) ?? "signal \(signal)"
    guard signal == SignalNames.abort else {
      return Finding(
        kind: "sent-signal",
        text: "The process sent the signal \(name) to itself. It is not a fault.",
        evidence: snapshot.signalFact)
    }
    return AbortFinding(snapshot: snapshot, frames: frames).finding
  }

  private func fromOutside(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding {
    let name = SignalNames.name(signal) ?? "signal \(signal)"
    let activity = MainThreadActivity(of: snapshot)
    let end = activity.map { " " + $0.text } ?? ""
    var evidence = snapshot.signalFact
    evidence += activity.map { [$0.evidence] } ?? []
    guard let sender = exception.sender else {
      return Finding(
        kind: "sent-signal",
        text: "The signal \(name) was sent; the kernel did not record by whom. It is not a fault."
          + end, evidence: evidence)
    }
    var who = "process \(sender.processID)"
    if let sending = exception.senderName { who += " (\(sending))" }
    evidence.append("si_pid \(sender.processID), si_uid \(sender.userID)")
    if let finding = watchdog(exception, sender, who, evidence, end) { return finding }
    if exception.code == 0, sender.processID == 0, sender.userID == 0 {
      // Both leave the same. Source: Linux kernel/signal.c, collect_signal.
      return Finding(
        kind: "sent-signal",
        text: "The signal \(name) was sent, by root from outside this PID namespace or by a process"
          + " that was not recorded because no more signals could be queued (RLIMIT_SIGPENDING)."
          + end, evidence: evidence)
    }
    // A process ID of 0 is one that this PID namespace cannot see.
    let text =
      sender.processID == 0
      ? "The signal \(name) was sent by user \(sender.userID) from a process outside this PID"
        + " namespace. It is not a fault."
      : "The signal \(name) was sent by \(who) of user \(sender.userID). It is not a fault."
    return Finding(kind: "sent-signal", text: text + end, evidence: evidence)
  }

  /// SIGABRT of the service manager, in a service that it watches.
  ///
  /// Its other reasons to send that signal, an operator and a stop that took too long, leave the
  /// same. Source: systemd.service(5), WatchdogSec and TimeoutAbortSec; systemd.kill(5),
  /// WatchdogSignal.
  private func watchdog(
    _ exception: ExceptionSnapshot, _ sender: ExceptionSnapshot.Sender, _ who: String,
    _ evidence: [String], _ end: String
  ) -> Finding? {
    guard exception.signal == SignalNames.abort, let interval = snapshot.process.watchdogInterval,
      exception.senderName == "systemd" || (exception.senderName == nil && sender.processID <= 1)
    else { return nil }
    let seconds = interval / 1_000_000_000
    let time = seconds > 0 ? "\(seconds) s" : "\(interval / 1_000_000) ms"
    return Finding(
      kind: "watchdog", certainty: .likely,
      text: "The service manager most likely ended the process because it gave no sign of life"
        + " for \(time) (WatchdogSec): SIGABRT came from \(who) of user \(sender.userID).\(end)",
      evidence: evidence + ["WATCHDOG_USEC was set at launch: \(time)"])
  }
}
