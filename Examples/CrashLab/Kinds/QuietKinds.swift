internal import CCrashLab
internal import Glibc

// Ends that the crash handler does not handle; they must leave nothing that looks like a crash.

extension CrashKind {
  static let quietKinds: [CrashKind] = [
    CrashKind("exit") { exit(0) },
    CrashKind("quick-exit") { _exit(0) },
    CrashKind("return") {},
    CrashKind("exec") { end_exec() },
    CrashKind("killed") { kill(getpid(), SIGKILL) },
    CrashKind("out-of-memory") { crash_out_of_memory() },
    CrashKind("terminated") {
      kill(getpid(), SIGTERM)
      // The kernel may deliver the signal to another thread: wait until it ends the process.
      sleep(10)
    },
    CrashKind("term-handled") { end_terminated(1) },
    CrashKind("term-then-kill") { end_terminated(0) },
  ]
}

@inline(never)
func end_exec() {
  var arguments = unsafe [strdup("true"), nil]
  unsafe execv("/bin/true", &arguments)
}
