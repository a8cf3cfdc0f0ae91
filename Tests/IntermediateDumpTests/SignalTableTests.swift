import Glibc
import IntermediateDump
import Testing

@Suite struct SignalTableTests {
  @Test func everySignalBelow32HasARowInOrderWithTheNameThatLibcHasForIt() {
    let known: [(Int32, String)] = [
      (SIGHUP, "SIGHUP"), (SIGINT, "SIGINT"), (SIGQUIT, "SIGQUIT"), (SIGILL, "SIGILL"),
      (SIGTRAP, "SIGTRAP"), (SIGABRT, "SIGABRT"), (SIGBUS, "SIGBUS"), (SIGFPE, "SIGFPE"),
      (SIGKILL, "SIGKILL"), (SIGUSR1, "SIGUSR1"), (SIGSEGV, "SIGSEGV"), (SIGUSR2, "SIGUSR2"),
      (SIGPIPE, "SIGPIPE"), (SIGALRM, "SIGALRM"), (SIGTERM, "SIGTERM"), (SIGSTKFLT, "SIGSTKFLT"),
      (SIGCHLD, "SIGCHLD"), (SIGCONT, "SIGCONT"), (SIGSTOP, "SIGSTOP"), (SIGTSTP, "SIGTSTP"),
      (SIGTTIN, "SIGTTIN"), (SIGTTOU, "SIGTTOU"), (SIGURG, "SIGURG"), (SIGXCPU, "SIGXCPU"),
      (SIGXFSZ, "SIGXFSZ"), (SIGVTALRM, "SIGVTALRM"), (SIGPROF, "SIGPROF"), (SIGWINCH, "SIGWINCH"),
      (SIGIO, "SIGIO"), (SIGPWR, "SIGPWR"), (SIGSYS, "SIGSYS"),
    ]
    #expect(known.map(\.0) == Array(1...31))
    for (signal, name) in known { #expect(SignalNames.name(signal) == name) }
  }

  @Test func theListsThatAreReadFromIt() {
    func mask(_ signals: Int32...) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1 - 1) } }
    let faults = mask(SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS)
    #expect(SignalTable.mask(.fault) == faults)
    #expect(
      SignalTable.mask(.captured) == faults | mask(SIGABRT, SIGXCPU, SIGXFSZ, SIGQUIT))
    #expect(SignalTable.mask(.capturedIfAsked) == mask(SIGPIPE, SIGSTKFLT))
    #expect(SignalTable.mask(.kernelEvent) == mask(SIGXCPU, SIGXFSZ, SIGPIPE, SIGQUIT))
    #expect(SignalTable.mask(.endRequest) == mask(SIGTERM, SIGINT, SIGHUP, SIGPIPE))
    #expect(SignalTable.mask(.jobControl) == mask(SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT))
    #expect(SignalTable.numbers(.endRequest) == [1, 2, 13, 15])
  }

  @Test func aCodeIsNamedByItsSignalsRow() {
    #expect(SignalNames.codeName(signal: SIGSEGV, code: 2) == "SEGV_ACCERR")
    #expect(SignalNames.codeName(signal: SIGSTKFLT, code: 0) == "SI_USER")
    #expect(SignalNames.codeName(signal: SIGSTKFLT, code: 1) == nil)
  }
}
