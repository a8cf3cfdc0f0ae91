extension KnownCrash {
  static let enforced: [KnownCrash] = [
    // SYS_SECCOMP: si_call_addr is not a fault's address.
    KnownCrash(
      kind: "seccomp", summary: "makes a system call that a filter forbids", signal: 31, code: 1,
      address: .none, function: "crash_seccomp",
      explanation: "is not allowed by a seccomp filter", isDebugged: true,
      causes: [Cause(kind: "forbidden-system-call", evidence: "si_syscall 163")]),
    KnownCrash(
      kind: "cpu-limit", summary: "uses up its CPU time", signal: 24, code: 128, address: .none,
      function: "",
      explanation: "The process used up the CPU time", places: [.main, .pthread],
      isOnItsThread: false, delay: 1,
      causes: [Cause(kind: "cpu-limit", evidence: "CPU time used")]),
    KnownCrash(
      kind: "file-size-limit", summary: "writes past its file size limit", signal: 25, code: 0,
      address: .none,
      function: "crash_file_size_limit", explanation: "RLIMIT_FSIZE",
      places: [.main, .pthread],
      causes: [Cause(kind: "file-size-limit", evidence: "SIGXFSZ")]),
    KnownCrash(
      kind: "pipe", summary: "writes to a pipe that nobody reads", signal: 13, code: 0,
      address: .none, function: "crash_pipe",
      explanation: "A write to a pipe or socket",
      causes: [Cause(kind: "broken-pipe", evidence: "SIGPIPE")]),
  ]

  // SI_USER: sent, not a fault, so there is no address.
  static let sent: [KnownCrash] = [
    KnownCrash(
      kind: "sent-segv", summary: "gets SIGSEGV from another process", signal: 11, code: 0,
      address: .none, function: "crash_sent",
      explanation: "The signal SIGSEGV was sent by process", places: [.main],
      isOnItsThread: false,
      causes: [Cause(kind: "sent-signal", evidence: "si_pid")]),
    KnownCrash(
      kind: "sent-abort", summary: "gets SIGABRT from another process", signal: 6, code: 0,
      address: .none, function: "crash_sent",
      explanation: "The signal SIGABRT was sent by process", places: [.main],
      isOnItsThread: false,
      causes: [Cause(kind: "sent-signal", evidence: "main thread")]),
    KnownCrash(
      kind: "sent-quit", summary: "gets SIGQUIT from another process", signal: 3, code: 0,
      address: .none, function: "crash_sent",
      explanation: "The process was asked to end: SIGQUIT was sent by process", places: [.main],
      isOnItsThread: false,
      causes: [Cause(kind: "quit-request", evidence: "si_uid")]),
  ]
}
