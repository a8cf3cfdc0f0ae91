// The system calls that crash code makes, one function each. Every one returns the kernel's own answer: a value that is
// not negative, or -errno. Nothing here touches errno, a lock or a cancellation point.
#ifndef PM_SYSTEM_CALLS_H
#define PM_SYSTEM_CALLS_H

#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "pm_annotations.h"
#include "pm_syscall_aarch64.h"
#include "pm_syscall_x86_64.h"

#define PM_SYSCALL(number, a, b, c, d, e, f) \
  pm_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// -- Files ----------------------------------------------------------------------------------------------------------

// The dump itself.
PM_INLINE long pm_write(int fd, const void *bytes, size_t count) {
  return PM_SYSCALL(SYS_write, fd, bytes, count, 0, 0, 0);
}

// The text files of /proc.
PM_INLINE long pm_read(int fd, void *bytes, size_t count) { return PM_SYSCALL(SYS_read, fd, bytes, count, 0, 0, 0); }

// Files that are held open: a second read starts at the beginning again.
PM_INLINE long pm_pread(int fd, void *bytes, size_t count, int64_t offset) {
  return PM_SYSCALL(SYS_pread64, fd, bytes, count, offset, 0, 0);
}

// The files of /proc, relative to a descriptor held since install, so that a later chroot does not matter.
PM_INLINE long pm_openat(int directory, const char *path, int flags) {
  return PM_SYSCALL(SYS_openat, directory, path, flags, 0, 0, 0);
}

PM_INLINE long pm_close(int fd) { return PM_SYSCALL(SYS_close, fd, 0, 0, 0, 0, 0); }

// The list of threads.
PM_INLINE long pm_getdents64(int fd, void *bytes, size_t count) {
  return PM_SYSCALL(SYS_getdents64, fd, bytes, count, 0, 0, 0);
}

// Takes ".locked" away. renameat2 because arm64 has no renameat on newer ABIs; flags are always 0.
PM_INLINE long pm_rename(int directory, const char *from, const char *to) {
  return PM_SYSCALL(SYS_renameat2, directory, from, directory, to, 0, 0);
}

// How much of a write that was broken off has reached the file.
PM_INLINE long pm_lseek(int fd, int64_t offset, int whence) { return PM_SYSCALL(SYS_lseek, fd, offset, whence, 0, 0, 0); }

// A dump file made in the crash itself: a forked child's, or one whose folder is gone.
PM_INLINE long pm_create(int directory, const char *path, int flags) {
  return PM_SYSCALL(SYS_openat, directory, path, flags, 0600, 0, 0);
}
PM_INLINE long pm_mkdir(int directory, const char *path) { return PM_SYSCALL(SYS_mkdirat, directory, path, 0700, 0, 0, 0); }

// The report ID of such a file.
PM_INLINE long pm_getrandom(void *bytes, size_t count) {
  return PM_SYSCALL(SYS_getrandom, bytes, count, 1 /* GRND_NONBLOCK */, 0, 0, 0);
}

// Is the descriptor still our file?
PM_INLINE long pm_fstat(int fd, struct stat *status) { return PM_SYSCALL(SYS_fstat, fd, status, 0, 0, 0, 0); }

// Raises the soft limit of file sizes for the dump: under RLIMIT_FSIZE 0 every write is EFBIG, preallocated or not.
PM_INLINE long pm_file_size_limit(const struct rlimit *limit, struct rlimit *previous) {
  return PM_SYSCALL(SYS_prlimit64, 0, RLIMIT_FSIZE, limit, previous, 0, 0);
}

// -- Memory ---------------------------------------------------------------------------------------------------------

// Copies this process's own memory; an address that cannot be read gives -EFAULT or a short count instead of a signal.
PM_INLINE long pm_copy_memory(int process, void *to, const void *from, size_t count) {
  struct iovec local = {to, count}, remote = {(void *)from, count};
  return PM_SYSCALL(SYS_process_vm_readv, process, &local, 1, &remote, 1, 0);
}

// -- Threads and signals --------------------------------------------------------------------------------------------

// libc caches the process ID in some versions, and a cached one is wrong in a vfork child.
PM_INLINE int pm_getpid(void) { return (int)PM_SYSCALL(SYS_getpid, 0, 0, 0, 0, 0, 0); }
PM_INLINE int pm_getppid(void) { return (int)PM_SYSCALL(SYS_getppid, 0, 0, 0, 0, 0, 0); }
PM_INLINE int pm_gettid(void) { return (int)PM_SYSCALL(SYS_gettid, 0, 0, 0, 0, 0, 0); }

// How a thread is scheduled: a policy, and 20 minus its nice value.
PM_INLINE long pm_sched_getscheduler(int thread) { return PM_SYSCALL(SYS_sched_getscheduler, thread, 0, 0, 0, 0, 0); }
PM_INLINE long pm_getpriority(int thread) { return PM_SYSCALL(SYS_getpriority, 0, thread, 0, 0, 0, 0); }

// Asks one thread to stop.
PM_INLINE long pm_tgkill(int process, int thread, int signal) {
  return PM_SYSCALL(SYS_tgkill, process, thread, signal, 0, 0, 0);
}

// Queues the original siginfo again, so that a previous handler and the core file see the true cause.
PM_INLINE long pm_tgsigqueueinfo(int process, int thread, int signal, const void *information) {
  return PM_SYSCALL(SYS_rt_tgsigqueueinfo, process, thread, signal, information, 0, 0);
}

// The kernel's sigaction, not libc's: libc's wrapper would need its own restorer and hides SA_RESTORER.
// Source: Linux include/linux/signal_types.h (struct sigaction), the same layout on x86_64 and arm64.
struct pm_signal_action {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

PM_INLINE long pm_sigaction(int signal, const struct pm_signal_action *action, struct pm_signal_action *previous) {
  return PM_SYSCALL(SYS_rt_sigaction, signal, action, previous, sizeof(uint64_t), 0, 0);
}

// `how` is SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK; bit n - 1 stands for signal n.
PM_INLINE long pm_sigprocmask(int how, const uint64_t *mask, uint64_t *previous) {
  return PM_SYSCALL(SYS_rt_sigprocmask, how, mask, previous, sizeof(uint64_t), 0, 0);
}

// Gives faults inside the handler a stack of their own: the handler has left the alternate stack, so the kernel would start
// again at its top, over the signal frame that is still needed. Undone by the return from the handler.
PM_INLINE long pm_sigaltstack(const stack_t *stack) { return PM_SYSCALL(SYS_sigaltstack, stack, 0, 0, 0, 0, 0); }

// Waits while *word == expected, at most `timeout` (relative; NULL: for ever).
PM_INLINE long pm_futex_wait(const void *word, uint32_t expected, const struct timespec *timeout) {
  return PM_SYSCALL(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, timeout, 0, 0);
}

PM_INLINE long pm_futex_wake(const void *word, int count) {
  return PM_SYSCALL(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, 0, 0, 0);
}

// A timer that is made at install, armed in a crash only, and sends the process a signal: the bound on our own time.
struct pm_signal_event {
  uint64_t value;
  int32_t signal;
  int32_t notify;  // 0: SIGEV_SIGNAL
  int32_t unused[12];
};
PM_INLINE long pm_timer_create(int signal, int *timer) {
  struct pm_signal_event event = {0};
  event.signal = signal;
  return PM_SYSCALL(SYS_timer_create, CLOCK_MONOTONIC, &event, timer, 0, 0, 0);
}
PM_INLINE long pm_timer_arm(int timer, int64_t milliseconds) {
  struct itimerspec time = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000000}};
  return PM_SYSCALL(SYS_timer_settime, timer, 0, &time, 0, 0, 0);
}

// Ends the process where nothing else did.
PM_INLINE long pm_exit_group(int status) { return PM_SYSCALL(SYS_exit_group, status, 0, 0, 0, 0, 0); }

// -- Facts ----------------------------------------------------------------------------------------------------------

// The vDSO is avoided: its pages are one more thing that a broken process may have damaged.
PM_INLINE long pm_clock_gettime(int clock, struct timespec *time) {
  return PM_SYSCALL(SYS_clock_gettime, clock, time, 0, 0, 0, 0);
}

PM_INLINE long pm_getrusage(int who, struct rusage *usage) {
  return PM_SYSCALL(SYS_getrusage, who, usage, 0, 0, 0, 0);
}

#endif
