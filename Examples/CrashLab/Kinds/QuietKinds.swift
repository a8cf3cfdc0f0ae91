internal import CCrashLab
internal import Glibc

// Ends that no handler sees; they must leave nothing that looks like a crash.

extension CrashKind {
  static let quietKinds: [CrashKind] = [
    CrashKind("exit", "ends with exit(0)") { exit(0) },
    CrashKind("quick-exit", "ends with _exit(0)") { _exit(0) },
    CrashKind("return", "returns from main", on: [.main]) {},
    CrashKind("exec", "becomes another program", on: [.main, .pthread]) { end_exec() },
    CrashKind("killed", "ends by SIGKILL") { kill(getpid(), SIGKILL) },
    CrashKind("out-of-memory", "uses more memory than its cgroup has", on: [.main]) {
      crash_out_of_memory()
    },
    CrashKind("terminated", "ends by SIGTERM", on: [.main, .pthread]) {
      kill(getpid(), SIGTERM)
      // Another thread may be the one that gets it, and is on its way.
      sleep(10)
    },
    CrashKind("term-handled", "exits in an orderly way at SIGTERM", on: [.main]) {
      end_terminated(1)
    },
    CrashKind("term-then-kill", "does not heed SIGTERM and gets SIGKILL", on: [.main]) {
      end_terminated(0)
    },
  ]
}

@inline(never)
func end_exec() {
  var arguments = unsafe [strdup("true"), nil]
  unsafe execv("/bin/true", &arguments)
}
