internal import Glibc

// Ends that no handler sees; they must leave nothing that looks like a crash.

extension CrashKind {
  static let quietKinds: [CrashKind] = [
    CrashKind("exit", "ends with exit(0)") { exit(0) },
    CrashKind("quick-exit", "ends with _exit(0)") { _exit(0) },
    CrashKind("killed", "ends by SIGKILL") { kill(getpid(), SIGKILL) },
  ]
}
