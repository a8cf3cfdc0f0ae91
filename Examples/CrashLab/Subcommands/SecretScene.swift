internal import Dispatch
internal import Glibc
internal import Postmortem

/// A program with secrets wherever a program may have one, whose dump is made in one of several ways.
struct SecretScene: Subcommand {
  private enum Manner: String, CaseIterable {
    /// Crashes.
    case crash
    /// Takes a dump, with a reason, an error and annotations that are secrets, and exits.
    case dump
    /// Hangs under a monitor until it is killed.
    case hang
    /// Waits until it is captured or killed, with heartbeats.
    case waits
  }

  private struct PaymentError: Error {
    let card = "eR3-error-Vk8Tz5Nd"
  }

  private let manner: Manner
  private let database: String
  private let privacy: ReportPrivacy

  init(_ arguments: Arguments) throws(UsageError) {
    manner = try Arguments.choice(arguments.words("MANNER")[0])
    database = try arguments.database
    privacy = try Crash.privacy(arguments.options)
  }

  func run() throws {
    var options = HandlerOptions()
    options.privacy = privacy
    options.attachments = [database + ".attached"]
    if manner == .waits { options.heartbeatInterval = .milliseconds(100) }
    lockFile()
    let handler = CrashLab.start(database, options)
    serveOther()
    let monitor =
      manner == .hang
      ? try HangMonitor.heartbeat(
        name: "hM4-loop-Gx7Rb2", options: HangMonitor.Options(threshold: .milliseconds(400))) : nil
    Secrets.surround { [manner] in
      switch manner {
      case .crash: unsafe UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1
      case .dump:
        _ = try? handler.dumpWithoutCrash(
          reason: "the card rS6-reason-Wp4Hc9 was refused", error: PaymentError(),
          annotations: ["card": "aN8-note-Jd5Qs3Xm"])
        say("dumped")
      case .hang:
        monitor?.heartbeat()
        say("hanging")
        waitForEver()
      case .waits:
        say("waiting")
        waitForEver()
      }
    }
  }

  /// Locks the file that the link `.locked` beside the database leads to.
  private func lockFile() {
    let locked = unsafe open(database + ".locked", O_RDWR | O_CLOEXEC)
    guard locked < 0 || flock(locked, LOCK_EX) == 0 else { exit(EX_OSERR) }
  }

  /// Serves another request on a thread of its own, which sleeps.
  private func serveOther() {
    let isServing = DispatchSemaphore(value: 0)
    Thread.start {
      withContext("user", "oW8-other-Jm3Ks7Vq") {
        leaveBreadcrumb("paid with oC2-wk7-Pn6Xt4Rb")
        isServing.signal()
        waitForEver()
      }
    }
    isServing.wait()
  }
}
