internal import CSignalSafe

/// Names for numbers, as words of one text: a table that needs no memory of its own and no jump.
///
/// RUNS-DURING-CRASH. Source: signal(7); sigaction(2), "The si_code field"; Linux
/// include/uapi/asm-generic/errno-base.h. The numbers are alike on x86_64 and arm64.
@safe
struct SignalWords {
  /// The name of a signal; the number of a real-time one.
  @_noLocks
  static func append(signal: Int32, to text: inout TextBuffer) {
    append(
      signal,
      of: """
        SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 \
        SIGPIPE SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG \
        SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS
        """, orElse: signal, to: &text)
  }

  /// The name of a signal's code.
  @_noLocks
  static func append(code: Int32, of signal: Int32, to text: inout TextBuffer) {
    if code == SI_KERNEL { return text.append("SI_KERNEL") }
    if code <= 0 {
      return append(
        1 &- code, of: "SI_USER SI_QUEUE SI_TIMER SI_MESGQ SI_ASYNCIO SI_SIGIO SI_TKILL",
        orElse: code, to: &text)
    }
    // One line for each signal, found by its number: a choice among texts would be compiled to a
    // jump table.
    let names: StaticString = """
      4 ILL_ILLOPC ILL_ILLOPN ILL_ILLADR ILL_ILLTRP ILL_PRVOPC ILL_PRVREG ILL_COPROC ILL_BADSTK
      5 TRAP_BRKPT TRAP_TRACE TRAP_BRANCH TRAP_HWBKPT TRAP_UNK
      7 BUS_ADRALN BUS_ADRERR BUS_OBJERR BUS_MCEERR_AR BUS_MCEERR_AO
      8 FPE_INTDIV FPE_INTOVF FPE_FLTDIV FPE_FLTOVF FPE_FLTUND FPE_FLTRES FPE_FLTINV FPE_FLTSUB
      11 SEGV_MAPERR SEGV_ACCERR SEGV_BNDERR SEGV_PKUERR SEGV_ACCADI SEGV_ADIDERR SEGV_ADIPERR \
      SEGV_MTEAERR SEGV_MTESERR
      31 SYS_SECCOMP SYS_USER_DISPATCH
      """
    var lines = unsafe TextScanner(
      UnsafeRawPointer(names.utf8Start), count: names.utf8CodeUnitCount)
    while !lines.isAtEnd, lines.decimal() != UInt64(truncatingIfNeeded: signal) {
      lines.skipLine()
    }
    lines.skipBlanks()
    append(code, of: lines.line, orElse: code, to: &text)
  }

  /// The name of an errno below 33, those that files give.
  @_noLocks
  static func append(errno: Int32, to text: inout TextBuffer) {
    append(
      errno,
      of: """
        EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
        ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
        ENOSPC ESPIPE EROFS EMLINK EPIPE
        """, orElse: errno, to: &text)
  }

  @_noLocks
  private static func append(
    _ number: Int32, of words: StaticString, orElse value: Int32, to text: inout TextBuffer
  ) {
    append(
      number, of: unsafe Bytes(words.utf8Start, count: words.utf8CodeUnitCount), orElse: value,
      to: &text)
  }

  /// Appends the `number`th word, counted from 1, or a number where there is none.
  @_noLocks
  private static func append(
    _ number: Int32, of words: Bytes, orElse value: Int32, to text: inout TextBuffer
  ) {
    var scanner = words.text
    var index: Int32 = 1
    while index < number, !scanner.isAtEnd {
      scanner.skipWord()
      scanner.skipBlanks()
      index &+= 1
    }
    let start = scanner.position
    scanner.skipWord()
    if number > 0, scanner.position > start {
      unsafe text.append(words.address + start, count: scanner.position &- start)
    } else {
      text.append(decimal: Int64(value))
    }
  }
}
