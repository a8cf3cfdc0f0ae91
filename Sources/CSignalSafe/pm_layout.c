// Compares the layouts in this module's headers with the system's own, at compile time.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

#include "CSignalSafe.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)

SAME(offsetof(siginfo_t, si_code), PM_SIGINFO_CODE);
SAME(offsetof(siginfo_t, si_addr), PM_SIGINFO_ADDRESS);
SAME(offsetof(siginfo_t, si_pid), PM_SIGINFO_SENDER);
SAME(sizeof(siginfo_t), 128);
SAME(offsetof(ucontext_t, uc_sigmask), PM_CONTEXT_SIGNAL_MASK);
SAME(offsetof(ucontext_t, uc_stack), PM_CONTEXT_SIGNAL_STACK);
SAME(SS_ONSTACK, 1);
SAME(SS_DISABLE, 2);
SAME(offsetof(struct stat, st_dev), 0);
SAME(offsetof(struct stat, st_ino), 8);
SAME(sizeof(struct timespec), 16);
SAME(sizeof(struct itimerspec), 32);
SAME(sizeof(struct sigevent), sizeof(struct pm_signal_event));
SAME(offsetof(struct sigevent, sigev_notify), offsetof(struct pm_signal_event, notify));
SAME(offsetof(struct sigevent, _sigev_un), offsetof(struct pm_signal_event, thread));
SAME(SIGEV_SIGNAL, 0);
SAME(SIGEV_THREAD_ID, 4);
SAME(sizeof(struct rusage), 144);
SAME(sizeof(struct rlimit), sizeof(struct pm_limit));
SAME(RLIMIT_FSIZE, 1);
SAME(sizeof(struct iovec), 16);
SAME(sizeof(stack_t), 24);
SAME(offsetof(stack_t, ss_flags), 8);
SAME(offsetof(stack_t, ss_size), 16);
SAME(sizeof(stack_t), sizeof(struct pm_signal_stack));
SAME(offsetof(stack_t, ss_flags), 8);
SAME(offsetof(ucontext_t, uc_stack), PM_CONTEXT_SIGNAL_STACK);
SAME(S_IFIFO, 0010000);
SAME(CLONE_FILES, 0x400);
SAME(FALLOC_FL_KEEP_SIZE, 1);
SAME(F_DUPFD_CLOEXEC, 1030);
SAME(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 128);
SAME(FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 129);
SAME(sizeof(struct pollfd), 8);
SAME(offsetof(struct pollfd, revents), 6);
SAME(POLLOUT, 4);
SAME(POLLERR, 8);
SAME(POLLHUP, 16);
SAME(POLLNVAL, 32);
SAME(CLOCK_REALTIME, 0);
SAME(CLOCK_MONOTONIC, 1);
SAME(CLOCK_BOOTTIME, 7);

#if defined(__x86_64__)
SAME(sizeof(struct stat), 144);
SAME(offsetof(struct stat, st_nlink), 16);
SAME(offsetof(ucontext_t, uc_mcontext.gregs), PM_CONTEXT_REGISTERS);
SAME(sizeof(gregset_t), PM_GENERAL_REGISTERS_SIZE);
SAME(offsetof(ucontext_t, uc_mcontext.fpregs), PM_CONTEXT_FLOATING_POINT);
SAME(REG_RIP, PM_RIP);
SAME(REG_RCX, PM_RCX);
SAME(REG_RSP, PM_RSP);
SAME(REG_RBP, PM_RBP);
SAME(REG_EFL, PM_RFLAGS);
#elif defined(__aarch64__)
SAME(sizeof(struct stat), 128);
SAME(offsetof(struct stat, st_nlink), 20);
SAME(offsetof(ucontext_t, uc_mcontext.regs), PM_CONTEXT_REGISTERS);
SAME(offsetof(ucontext_t, uc_mcontext.pc), PM_CONTEXT_REGISTERS + 32 * 8);
SAME(offsetof(ucontext_t, uc_mcontext.__reserved), PM_CONTEXT_FLOATING_POINT);
#endif
