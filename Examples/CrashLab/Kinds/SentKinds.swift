internal import CCrashLab
internal import Glibc

// Signals that another process sends. The kernel gives them to the main thread where that does not block them, so they
// are only possible there.

extension CrashKind {
  static let sentKinds: [CrashKind] = [
    CrashKind("sent-segv") { crash_sent(SIGSEGV) },
    CrashKind("sent-abort") { crash_sent(SIGABRT) },
    CrashKind("sent-quit") { crash_sent(SIGQUIT) },
  ]
}
