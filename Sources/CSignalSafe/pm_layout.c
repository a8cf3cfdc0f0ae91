// Compares, at compile time, the layouts and constants in this module's headers with those in the system's headers.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// Names of macros in pm_constants.h. Before CSignalSafe.h is included, the macros have the system's values; after that,
// they have this module's values. `PM_COMPARE` checks that both are equal.
#define PM_CONSTANTS(X) X(ENOENT) X(ESRCH) X(EINTR) X(EIO) X(EBADF) X(EAGAIN) X(EACCES) X(EFAULT) X(EFBIG) X(EPIPE) X(ENOSYS) X(ENOBUFS) \
  X(SIGQUIT) X(SIGILL) X(SIGTRAP) X(SIGABRT) X(SIGBUS) X(SIGFPE) X(SIGSEGV) X(SIGPIPE) X(SIGTERM) X(SIGXCPU) X(SIGXFSZ) \
  X(SIGPROF) X(SIGSYS) X(SIG_BLOCK) X(SIG_UNBLOCK) X(SIG_SETMASK) X(SA_ONSTACK) X(SA_NODEFER) X(SA_RESETHAND) X(O_RDONLY) X(O_WRONLY) \
  X(O_RDWR) X(O_CREAT) X(O_EXCL) X(O_TRUNC) X(O_NONBLOCK) X(O_DIRECTORY) X(O_NOFOLLOW) X(O_CLOEXEC) X(AT_FDCWD) \
  X(AT_SYMLINK_NOFOLLOW) X(AT_EMPTY_PATH) X(SEEK_CUR) X(STDERR_FILENO) X(F_DUPFD_CLOEXEC) X(F_GETFL) X(FALLOC_FL_KEEP_SIZE) \
  X(GRND_NONBLOCK) X(POLLOUT) X(POLLERR) X(POLLHUP) X(POLLNVAL) X(PROT_NONE) X(MAP_SHARED) X(MADV_DONTFORK) X(CLONE_FILES) \
  X(FUTEX_WAIT) X(FUTEX_WAKE) X(FUTEX_PRIVATE_FLAG) X(CLOCK_REALTIME) X(CLOCK_MONOTONIC) X(CLOCK_THREAD_CPUTIME_ID) X(CLOCK_BOOTTIME) X(ELFCLASS64) \
  X(PT_LOAD) X(PT_NOTE) X(NT_GNU_BUILD_ID)
#define PM_SYSTEMS(name) PM_SYSTEMS_##name = (int)(name),
enum { PM_CONSTANTS(PM_SYSTEMS) };

#include "CSignalSafe.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)

#define PM_COMPARE(name) _Static_assert(PM_SYSTEMS_##name == (int)(name), #name);
PM_CONSTANTS(PM_COMPARE)
SAME(SIGSETXID, __SIGRTMIN + 1);
SAME(PM_SI_USER, SI_USER);
SAME(PM_SI_QUEUE, SI_QUEUE);
SAME(PM_SI_TIMER, SI_TIMER);
SAME(PM_SI_MESGQ, SI_MESGQ);
SAME(PM_SI_TKILL, SI_TKILL);
SAME(PM_SI_KERNEL, SI_KERNEL);
SAME(PM_SEGV_MAPERR, SEGV_MAPERR);
SAME(PM_SEGV_PKUERR, SEGV_PKUERR);
SAME(PM_BUS_ADRERR, BUS_ADRERR);
SAME(PM_BUS_MCEERR_AR, BUS_MCEERR_AR);
SAME(PM_BUS_MCEERR_AO, BUS_MCEERR_AO);
SAME(PM_TRAP_BRKPT, TRAP_BRKPT);
SAME(PM_SIG_DFL, (uintptr_t)SIG_DFL);
SAME(PM_SIG_IGN, (uintptr_t)SIG_IGN);
SAME(PM_SS_ONSTACK, SS_ONSTACK);
SAME(PM_SS_DISABLE, SS_DISABLE);
SAME(PM_SIGEV_SIGNAL, SIGEV_SIGNAL);
SAME(PM_SIGEV_THREAD_ID, SIGEV_THREAD_ID);
SAME(PM_RUSAGE_SELF, RUSAGE_SELF);
SAME(PM_RLIMIT_FSIZE, RLIMIT_FSIZE);
SAME(PM_S_IFIFO, S_IFIFO);

SAME(offsetof(siginfo_t, si_code), PM_SIGINFO_CODE);
SAME(offsetof(siginfo_t, si_addr), PM_SIGINFO_ADDRESS);
SAME(offsetof(siginfo_t, si_pid), PM_SIGINFO_SENDER);
SAME(offsetof(siginfo_t, si_timerid), PM_SIGINFO_TIMER);
SAME(offsetof(siginfo_t, si_value), PM_SIGINFO_VALUE);
SAME(offsetof(siginfo_t, si_call_addr), PM_SIGINFO_ADDRESS);
SAME(sizeof(siginfo_t), 128);
SAME(offsetof(ucontext_t, uc_sigmask), PM_CONTEXT_SIGNAL_MASK);
SAME(offsetof(ucontext_t, uc_stack), PM_CONTEXT_SIGNAL_STACK);
SAME(offsetof(struct stat, st_dev), 0);
SAME(offsetof(struct stat, st_ino), 8);
SAME(sizeof(struct timespec), 16);
SAME(sizeof(struct itimerspec), 32);
SAME(sizeof(struct sigevent), sizeof(struct pm_signal_event));
SAME(offsetof(struct sigevent, sigev_notify), offsetof(struct pm_signal_event, notify));
SAME(offsetof(struct sigevent, _sigev_un), offsetof(struct pm_signal_event, thread));
SAME(sizeof(struct rusage), 144);
SAME(sizeof(struct rlimit), sizeof(struct pm_limit));
SAME(sizeof(struct iovec), 16);
SAME(sizeof(stack_t), 24);
SAME(offsetof(stack_t, ss_flags), 8);
SAME(offsetof(stack_t, ss_size), 16);
SAME(sizeof(stack_t), sizeof(struct pm_signal_stack));
SAME(sizeof(struct pollfd), 8);
SAME(offsetof(struct pollfd, revents), 6);

#if defined(__x86_64__)
SAME(sizeof(struct stat), 144);
SAME(offsetof(struct stat, st_nlink), 16);
SAME(offsetof(ucontext_t, uc_mcontext.gregs), PM_CONTEXT_REGISTERS);
SAME(sizeof(gregset_t), PM_GENERAL_REGISTERS_SIZE);
SAME(offsetof(ucontext_t, uc_mcontext.fpregs), PM_CONTEXT_FLOATING_POINT);
SAME(REG_RIP, PM_INSTRUCTION_POINTER);
SAME(REG_RAX, PM_RESULT);
SAME(REG_RCX, PM_RCX);
SAME(REG_R9, PM_R9);
SAME(REG_RSP, PM_STACK_POINTER);
SAME(REG_RBP, PM_FRAME_POINTER);
SAME(REG_EFL, PM_RFLAGS);
#elif defined(__aarch64__)
SAME(sizeof(struct stat), 128);
SAME(offsetof(struct stat, st_nlink), 20);
SAME(offsetof(ucontext_t, uc_mcontext.regs), PM_CONTEXT_REGISTERS);
SAME(offsetof(ucontext_t, uc_mcontext.pc), PM_CONTEXT_REGISTERS + PM_INSTRUCTION_POINTER * 8);
SAME(offsetof(ucontext_t, uc_mcontext.sp), PM_CONTEXT_REGISTERS + PM_STACK_POINTER * 8);
SAME(offsetof(ucontext_t, uc_mcontext.pstate) + 8, PM_CONTEXT_REGISTERS + PM_GENERAL_REGISTERS_SIZE);
SAME(offsetof(ucontext_t, uc_mcontext.__reserved), PM_CONTEXT_FLOATING_POINT);
SAME(FPSIMD_MAGIC, 0x46508001u);
SAME(sizeof(struct fpsimd_context), 528);
SAME(offsetof(struct fpsimd_context, vregs), 16);
SAME(sizeof(siginfo_t), PM_CONTEXT_IN_FRAME);
SAME(sizeof(((ucontext_t *)0)->uc_mcontext.__reserved), PM_CONTEXT_RESERVED);
SAME(ESR_MAGIC, 0x45535201u);
SAME(sizeof(struct esr_context), 16);
SAME(offsetof(struct esr_context, esr), 8);
#endif
