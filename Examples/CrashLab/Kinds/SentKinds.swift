internal import CCrashLab
internal import Glibc

// Signals that another process sends. The kernel delivers them to the main thread unless that thread blocks them, so
// these kinds are possible only there.

extension CrashKind {
  static let sentKinds: [CrashKind] = [
    CrashKind("sent-segv") { crash_sent(SIGSEGV) },
    CrashKind("sent-abort") { crash_sent(SIGABRT) },
    CrashKind("sent-quit") { crash_sent(SIGQUIT) },
  ]
}
