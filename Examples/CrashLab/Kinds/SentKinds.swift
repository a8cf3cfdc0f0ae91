internal import CCrashLab
internal import Glibc

// Signals that another process sends. The kernel gives them to the main thread where that does not block them, so they
// are only possible there.

extension CrashKind {
  static let sentKinds: [CrashKind] = [
    CrashKind("sent-segv", "gets SIGSEGV from another process", on: [.main]) {
      crash_sent(SIGSEGV)
    },
    CrashKind("sent-abort", "gets SIGABRT from another process", on: [.main]) {
      crash_sent(SIGABRT)
    },
    CrashKind("sent-quit", "gets SIGQUIT from another process", on: [.main]) {
      crash_sent(SIGQUIT)
    },
  ]
}
