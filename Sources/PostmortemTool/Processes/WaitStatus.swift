internal import Glibc

/// How a process ended, as waitpid(2) reports it.
struct WaitStatus {
  let status: Int32

  /// The signal that killed the process; nil if the process exited.
  var signal: Int32? { status & 0x7F == 0 ? nil : status & 0x7F }

  /// The exit status; nil if a signal killed the process.
  var exitStatus: Int32? { signal == nil ? status >> 8 & 0xFF : nil }

  /// Ends this process as the other one ended: by the same signal, or with the same exit status.
  func repeatForThisProcess() -> Never {
    guard let signal else { exit(status >> 8 & 0xFF) }
    // The kernel discards a signal with the default action if the first process of a PID namespace sends it to itself,
    // so that process only exits.
    if getpid() != 1 {
      // The core file limit is 1 and not 0, because only 1 also prevents a core dump that the kernel pipes to a
      // program.
      // Source: core(5); Linux fs/coredump.c.
      var limit = rlimit()
      unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      limit.rlim_cur = min(1, limit.rlim_max)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      Glibc.signal(signal, SIG_DFL)
      var mask = sigset_t()
      unsafe sigemptyset(&mask)
      unsafe sigaddset(&mask, signal)
      kill(getpid(), signal)
      unsafe pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    }
    exit(128 &+ signal)
  }
}
