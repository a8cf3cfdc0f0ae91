internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the cause of a crash whose signal was sent by this process or another one.
struct SentFinding {
  let snapshot: ProcessSnapshot
  let frames: [StackFrame]

  static let fileSizeLimit = Finding(cause: .fileSizeLimit, evidence: [.fileSizeSignal])

  func finding(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding? {
    guard snapshot.isOwnProcess(exception.sender) else { return fromOutside(exception, signal) }
    switch signal {
    // The kernel sends SIGXFSZ with the same `si_code` as kill(2), so SIGXFSZ is assumed to come from the kernel.
    case SIGXFSZ where exception.code == 0: return Self.fileSizeLimit
    case SIGPIPE: return Finding(cause: .brokenPipe, evidence: [.ownPipe])
    case SIGABRT: return AbortFinding(snapshot: snapshot, frames: frames).finding
    default: return Finding(cause: .ownSignal(signal), evidence: snapshot.signalEvidence)
    }
  }

  private func fromOutside(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding {
    let activity = MainThreadActivity(of: snapshot)
    var evidence = snapshot.signalEvidence
    if let activity, let id = snapshot.process.processID {
      evidence.append(.mainThread(id, activity))
    }
    let sender = exception.namedSender
    if let sender {
      evidence.append(.sender(sender))
      if let interval = watchdogInterval(exception, sender) {
        return Finding(
          cause: .watchdog(sender, interval: interval, activity), certainty: .likely,
          evidence: evidence + [.watchdogInterval(interval)])
      }
    }
    return Finding(
      cause: snapshot.isQuitRequest
        ? .quitRequest(sender, activity) : .sentSignal(signal, sender, activity),
      evidence: evidence)
  }

  /// The interval in nanoseconds of the service manager's watchdog, if the watchdog may have sent the signal.
  ///
  /// The service manager also sends SIGABRT on an operator's request, or if stopping the service takes too long. From
  /// the dump alone, these cases cannot be distinguished from the watchdog.
  ///
  /// Source: systemd.service(5), WatchdogSec and TimeoutAbortSec; systemd.kill(5), WatchdogSignal.
  private func watchdogInterval(
    _ exception: ExceptionSnapshot, _ sender: Cause.Sender
  ) -> UInt64? {
    guard exception.signal == SIGABRT,
      sender.name == "systemd" || (sender.name == nil && sender.processID <= 1)
    else { return nil }
    return snapshot.process.watchdogInterval
  }
}
