/// The names of signals, of their codes and of errnos.
///
/// Written out, not taken from libc: a dump may come from another machine, and these numbers are
/// part of the kernel's interface on both architectures. Source: signal(7); sigaction(2), "The
/// si_code field"; Linux include/uapi/asm-generic/errno-base.h.
package enum SignalNames {
  /// Lines of a number and names, which are counted from 1.
  ///
  /// One text: a choice among texts would be compiled to a jump table. Line 0 has signals, that of a
  /// signal its codes, `sentLine` the codes of sent ones from 0 downwards, `errnoLine` errnos.
  package static var table: StaticString {
    @_noLocks get {
      """
      0 SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 \
      SIGPIPE SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG \
      SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS
      4 ILL_ILLOPC ILL_ILLOPN ILL_ILLADR ILL_ILLTRP ILL_PRVOPC ILL_PRVREG ILL_COPROC ILL_BADSTK
      5 TRAP_BRKPT TRAP_TRACE TRAP_BRANCH TRAP_HWBKPT TRAP_UNK
      7 BUS_ADRALN BUS_ADRERR BUS_OBJERR BUS_MCEERR_AR BUS_MCEERR_AO
      8 FPE_INTDIV FPE_INTOVF FPE_FLTDIV FPE_FLTOVF FPE_FLTUND FPE_FLTRES FPE_FLTINV FPE_FLTSUB
      11 SEGV_MAPERR SEGV_ACCERR SEGV_BNDERR SEGV_PKUERR SEGV_ACCADI SEGV_ADIDERR SEGV_ADIPERR \
      SEGV_MTEAERR SEGV_MTESERR
      31 SYS_SECCOMP SYS_USER_DISPATCH
      98 SI_USER SI_QUEUE SI_TIMER SI_MESGQ SI_ASYNCIO SI_SIGIO SI_TKILL
      99 EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
      ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
      ENOSPC ESPIPE EROFS EMLINK EPIPE
      """
    }
  }
  package static var sentLine: Int32 { @_noLocks get { 98 } }
  package static var errnoLine: Int32 { @_noLocks get { 99 } }
}
