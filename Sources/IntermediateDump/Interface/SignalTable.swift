/// The standard signals of Linux (1 to 31), with their numbers, names, codes and classes; each signal has one row.
///
/// These lists come from this table: the signals that the handler captures, the signals of faults, the signals that ask
/// a process to end, and the names of signals in reports.
///
/// The numbers are not taken from libc, because a dump may come from another machine. The numbers are part of the
/// kernel's interface, and are the same on x86_64 and arm64. Source: signal(7); sigaction(2), "The si_code field";
/// Linux include/uapi/asm-generic/errno-base.h.
package enum SignalTable {
  /// The table, in which each line describes one signal.
  ///
  /// A line consists of the signal's number, the letters of its classes (see `Class`; `-` for none), its name, and the
  /// names of its codes from 1 upward.
  ///
  /// The table is one string, because the compiler would turn a choice among strings into a jump table, which the
  /// call-graph audit of crash code cannot follow. Two more lines do not describe a signal. `sentLine` lists the names
  /// of the codes for sent signals, from 0 downward, and `errnoLine` lists the names of error numbers.
  package static var text: StaticString {
    @_noLocks get {
      """
      1 e SIGHUP
      2 e SIGINT
      3 ck SIGQUIT
      4 fc SIGILL ILL_ILLOPC ILL_ILLOPN ILL_ILLADR ILL_ILLTRP ILL_PRVOPC ILL_PRVREG ILL_COPROC ILL_BADSTK
      5 fc SIGTRAP TRAP_BRKPT TRAP_TRACE TRAP_BRANCH TRAP_HWBKPT TRAP_UNK
      6 c SIGABRT
      7 fc SIGBUS BUS_ADRALN BUS_ADRERR BUS_OBJERR BUS_MCEERR_AR BUS_MCEERR_AO
      8 fc SIGFPE FPE_INTDIV FPE_INTOVF FPE_FLTDIV FPE_FLTOVF FPE_FLTUND FPE_FLTRES FPE_FLTINV FPE_FLTSUB
      9 - SIGKILL
      10 - SIGUSR1
      11 fc SIGSEGV SEGV_MAPERR SEGV_ACCERR SEGV_BNDERR SEGV_PKUERR SEGV_ACCADI SEGV_ADIDERR SEGV_ADIPERR \
      SEGV_MTEAERR SEGV_MTESERR SEGV_CPERR
      12 - SIGUSR2
      13 ake SIGPIPE
      14 - SIGALRM
      15 e SIGTERM
      16 a SIGSTKFLT
      17 - SIGCHLD
      18 j SIGCONT
      19 - SIGSTOP
      20 j SIGTSTP
      21 j SIGTTIN
      22 j SIGTTOU
      23 - SIGURG
      24 ck SIGXCPU
      25 ck SIGXFSZ
      26 - SIGVTALRM
      27 - SIGPROF
      28 - SIGWINCH
      29 - SIGIO
      30 - SIGPWR
      31 fc SIGSYS SYS_SECCOMP SYS_USER_DISPATCH
      98 - 0 SI_USER SI_QUEUE SI_TIMER SI_MESGQ SI_ASYNCIO SI_SIGIO SI_TKILL
      99 - 0 EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
      ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
      ENOSPC ESPIPE EROFS EMLINK EPIPE
      """
    }
  }
  package static var sentLine: Int32 { @_noLocks get { 98 } }
  package static var errnoLine: Int32 { @_noLocks get { 99 } }
}

/// The classes of signals, for ordinary code; crash code reads the table with `SignalTable.word`.
extension SignalTable {
  /// A class of signals; the raw value is the letter that stands for the class in the table's rows.
  package enum Class: UInt8, CaseIterable, Sendable {
    /// A signal that an instruction raises.
    case fault = 0x66  // f
    /// A signal that the handler captures unless the program excludes it.
    case captured = 0x63  // c
    /// A signal that the handler captures only if the program requests it.
    case capturedIfAsked = 0x61  // a
    /// A signal that the kernel sends for an event; its `si_code` is above 0, or its sender is the process itself.
    case kernelEvent = 0x6B  // k
    /// A signal that asks a process to end, or SIGPIPE.
    case endRequest = 0x65  // e
    /// A signal that stops or continues a process.
    case jobControl = 0x6A  // j

    package var letter: UInt8 { rawValue }
  }

  /// The signals in a class; bit n - 1 stands for signal n.
  package static func mask(_ wanted: Class) -> UInt64 {
    let text = text
    let base = unsafe text.utf8Start
    var mask: UInt64 = 0
    // `part` says which part of a line `place` is in: 0 for the signal's number, 1 for the letters of the classes, 2
    // for the rest.
    var (part, number) = (0, UInt64(0))
    var place = 0
    while place < text.utf8CodeUnitCount {
      let byte = unsafe base[place]
      place &+= 1
      if byte == 0x0A {
        (part, number) = (0, 0)
      } else if byte == 0x20 {
        part &+= 1
      } else if part == 0 {
        number = number &* 10 &+ UInt64(byte & 0x0F)
      } else if part == 1, byte == wanted.letter {
        mask |= 1 &<< (number &- 1)
      }
    }
    return mask
  }

  /// The numbers of the signals in a class, lowest first.
  package static func numbers(_ wanted: Class) -> [Int32] {
    let mask = mask(wanted)
    return (Int32(1)...31).filter { mask >> UInt64($0 - 1) & 1 == 1 }
  }
}
