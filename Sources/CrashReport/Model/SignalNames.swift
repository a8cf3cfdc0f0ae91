/// The names of signals and of their codes.
///
/// Written out, not taken from libc: a dump may come from another machine, and these numbers are
/// part of the kernel's interface on both architectures. Source: signal(7); sigaction(2), "The
/// si_code field".
package enum SignalNames {
  static func name(_ signal: Int32) -> String? { names[signal] }

  /// The name, or such as "signal 40".
  package static func text(_ signal: Int32) -> String { name(signal) ?? "signal \(signal)" }

  static func codeName(signal: Int32, code: Int32) -> String? {
    if let name = sent[code] { return name }
    guard let names = codes[signal], code >= 1, Int(code) <= names.count else { return nil }
    return names[Int(code) - 1]
  }

  private static let names: [Int32: String] = [
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
    14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP",
    20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ",
    26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
  ]

  private static let sent: [Int32: String] = [
    0: "SI_USER", 0x80: "SI_KERNEL", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ",
    -4: "SI_ASYNCIO", -5: "SI_SIGIO", -6: "SI_TKILL",
  ]

  private static let codes: [Int32: [String]] = [
    4: [
      "ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG",
      "ILL_COPROC", "ILL_BADSTK",
    ],
    5: ["TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK"],
    7: ["BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"],
    8: [
      "FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES",
      "FPE_FLTINV", "FPE_FLTSUB",
    ],
    11: [
      "SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR", "SEGV_ACCADI", "SEGV_ADIDERR",
      "SEGV_ADIPERR", "SEGV_MTEAERR", "SEGV_MTESERR",
    ],
    31: ["SYS_SECCOMP", "SYS_USER_DISPATCH"],
  ]
}
