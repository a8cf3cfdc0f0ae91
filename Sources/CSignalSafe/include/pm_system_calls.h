// Functions for the system calls that crash code makes; a call with several uses has several functions. Unless stated
// otherwise, a function returns the kernel's result: a value that is not negative, or -errno. No function changes errno,
// takes a lock or is a cancellation point.
//
// This header includes no header that defines a system struct. Otherwise both this module and Glibc would define
// structs such as struct stat, and the compiler could reject their members in a program that imports only Glibc.
// Instead, this module declares structs of its own with the same layout, and pm_layout.c compares these with the
// system's definitions.
#ifndef PM_SYSTEM_CALLS_H
#define PM_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "pm_annotations.h"
#include "pm_constants.h"
#include "pm_syscall.h"

PM_BEGIN_C

// -- Files ----------------------------------------------------------------------------------------------------------

// 1 once a write failed because of the limit on file sizes, or because a pipe has no reader. Such a write raises SIGXFSZ
// or SIGPIPE, which `RaisedSignals` removes. The value never becomes 0 again, because several threads write.
extern _Atomic(int) pm_has_raised_storage __attribute__((visibility("hidden")));
PM_INLINE bool pm_has_raised(void) { return __c11_atomic_load(&pm_has_raised_storage, __ATOMIC_SEQ_CST) != 0; }
PM_INLINE long pm_note_raised(long result) {
  if (result == -EFBIG || result == -EPIPE) __c11_atomic_store(&pm_has_raised_storage, 1, __ATOMIC_SEQ_CST);
  return result;
}

// Writes to a descriptor, for example the dump, or the crash summary to standard error.
PM_INLINE long pm_write(int fd, const void *bytes, size_t count) {
  return pm_note_raised(PM_SYSCALL(SYS_write, fd, bytes, count, 0, 0, 0));
}

// Reads from an open file; crash code reads text files in /proc with it.
PM_INLINE long pm_read(int fd, void *bytes, size_t count) { return PM_SYSCALL(SYS_read, fd, bytes, count, 0, 0, 0); }

// Reads from the given offset of a file, for example of a cgroup file that stays open.
PM_INLINE long pm_pread(int fd, void *bytes, size_t count, int64_t offset) {
  return PM_SYSCALL(SYS_pread64, fd, bytes, count, offset, 0, 0);
}

// Opens a file that exists. Files in /proc are opened relative to a descriptor of /proc that was opened when the
// handler started, so that a later chroot does not matter.
PM_INLINE int pm_openat(int directory, const char *path, int flags) {
  return (int)PM_SYSCALL(SYS_openat, directory, path, flags, 0, 0, 0);
}

PM_INLINE long pm_close(int fd) { return PM_SYSCALL(SYS_close, fd, 0, 0, 0, 0, 0); }

// Descriptors that are no longer needed and are closed together, if the thread has its own descriptor table. No other
// thread can then close one of them and open another file under its number. Each takes about 5 KiB of the kernel's memory.
#define PM_UNCLOSED 8
struct pm_unclosed {
  int count;
  int descriptors[PM_UNCLOSED];
};
// Closes all descriptors of the list; consecutive ones with one call. Linux before 5.9 does not have close_range.
PM_INLINE void pm_close_all(struct pm_unclosed *list) {
  for (int i = 0, end; i < list->count; i = end) {
    for (end = i + 1; end < list->count && list->descriptors[end] == list->descriptors[end - 1] + 1;) end++;
    if (end == i + 1 || PM_SYSCALL(PM_SYS_CLOSE_RANGE, list->descriptors[i], list->descriptors[end - 1], 0, 0, 0, 0) != 0)
      for (int each = i; each < end; each++) pm_close(list->descriptors[each]);
  }
  list->count = 0;
}
// The kernel gives a new file the lowest free number. So if nothing is closed meanwhile, most of the list's numbers follow
// one another, even if the table had gaps.
PM_INLINE void pm_close_later(struct pm_unclosed *list, int fd) {
  list->descriptors[list->count++] = fd;
  if (list->count == PM_UNCLOSED) pm_close_all(list);
}

// Reads the entries of a directory, such as the list of threads in /proc/self/task.
PM_INLINE long pm_getdents64(int fd, void *bytes, size_t count) {
  return PM_SYSCALL(SYS_getdents64, fd, bytes, count, 0, 0, 0);
}

// Reads a symbolic link. For the working directory and open files, the kernel has the targets of the links in /proc in
// memory. So a file system that does not respond cannot block the call.
PM_INLINE long pm_readlink(int directory, const char *path, void *text, size_t size) {
  return PM_SYSCALL(SYS_readlinkat, directory, path, text, size, 0, 0);
}

// Returns the flags with which a descriptor was opened; O_DIRECTORY among them shows that the descriptor refers to a
// directory. This function does not use fstat, because fstat may block on a network file system without a server.
PM_INLINE long pm_open_flags(int fd) { return PM_SYSCALL(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0); }

// The maximum number of times that a system call is attempted if signals interrupt it, as on a slow file system. Most
// of these signals are ticks of the handler's own timer.
#define PM_INTERRUPTIONS 64

// Renames a file, for example to remove ".locked" from its name. The system call is renameat2, because newer ABIs
// have no renameat; its flags are always 0.
PM_INLINE long pm_rename(int directory, const char *from, const char *to) {
  long result = -EINTR;
  for (int i = 0; i < PM_INTERRUPTIONS && result == -EINTR; i++)
    result = PM_SYSCALL(SYS_renameat2, directory, from, directory, to, 0, 0);
  return result;
}

// Removes a file, for example a hang's dump, FIFO or run record when a crash report replaces that dump.
PM_INLINE long pm_unlink(int directory, const char *path) {
  return PM_SYSCALL(SYS_unlinkat, directory, path, 0, 0, 0, 0);
}

// Sets or returns a file's offset. The offset shows how much of an interrupted write has reached the file.
PM_INLINE long pm_lseek(int fd, int64_t offset, int whence) { return PM_SYSCALL(SYS_lseek, fd, offset, whence, 0, 0, 0); }

// The mode of files that are created in a crash: 0600, or 0660 in a database that a group shares. At launch,
// pm_set_file_mode sets this mode.
extern uint32_t pm_file_mode;

// Creates a file in a crash, for example a new dump if a forked child crashes or the handler's dump file no longer
// exists. Also opens directories.
PM_INLINE int pm_create(int directory, const char *path, int flags) {
  long result = -EINTR;
  for (int i = 0; i < PM_INTERRUPTIONS && result == -EINTR; i++)
    result = PM_SYSCALL(SYS_openat, directory, path, flags, pm_file_mode, 0, 0);
  return (int)result;
}
PM_INLINE long pm_mkdir(int directory, const char *path) { return PM_SYSCALL(SYS_mkdirat, directory, path, 0700, 0, 0, 0); }

// Creates the FIFO for a new dump file; the open FIFO shows that the file's owner is alive.
PM_INLINE long pm_mkfifo(int directory, const char *path) {
  return PM_SYSCALL(SYS_mknodat, directory, path, PM_S_IFIFO | pm_file_mode, 0, 0, 0);
}

// Reserves disk blocks for a file without changing its size, so that the file can be written even if the disk is
// full.
PM_INLINE long pm_preallocate(int fd, int64_t size) {
  return pm_note_raised(PM_SYSCALL(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, 0, size, 0, 0));
}

// Changes the size of a file, to free the blocks after a dump's end or to empty an abandoned dump.
PM_INLINE long pm_truncate(int fd, uint64_t size) { return PM_SYSCALL(SYS_ftruncate, fd, size, 0, 0, 0, 0); }

// Duplicates a descriptor, to reserve a slot in the descriptor table again after a crash that the process survived.
PM_INLINE int pm_duplicate(int fd) { return (int)PM_SYSCALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0, 0, 0); }

// Writes at an offset, for example the byte in an earlier crash's dump that shows how the process continued after that
// crash.
PM_INLINE long pm_pwrite(int fd, const void *bytes, size_t count, int64_t offset) {
  return pm_note_raised(PM_SYSCALL(SYS_pwrite64, fd, bytes, count, offset, 0, 0));
}

// Makes the database's owner the owner of a file created in a crash, if the process is root and the database belongs
// to another user.
PM_INLINE long pm_fchown(int fd, uint32_t user, uint32_t group) {
  return PM_SYSCALL(SYS_fchown, fd, user, group, 0, 0, 0);
}

// Returns random bytes, for example for a report ID.
PM_INLINE long pm_getrandom(void *bytes, size_t count) {
  return PM_SYSCALL(SYS_getrandom, bytes, count, GRND_NONBLOCK, 0, 0, 0);
}

// Waits until a descriptor accepts bytes. The system call is ppoll, because arm64 has no poll. Returns the `revents` of
// ppoll, 0 if nothing happened in time, or -errno.
PM_INLINE long pm_wait_writable(int fd, int64_t milliseconds) {
  // struct pollfd
  struct {
    int32_t fd;
    int16_t events;
    int16_t returned;
  } wanted = {fd, POLLOUT, 0};
  int64_t time[2] = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  long result = PM_SYSCALL(SYS_ppoll, &wanted, 1, time, 0, 0, 0);
  return result > 0 ? wanted.returned : result;
}

// Gives the calling thread a separate copy of the descriptor table; the time grows with the number of descriptors.
PM_INLINE long pm_leave_descriptor_table(void) {
  return PM_SYSCALL(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0);
}

// The part of a file's status that crash code uses, for example to check that a descriptor still refers to the dump's
// file.
struct pm_file_status {
  uint64_t device;
  uint64_t inode;
  uint64_t links;
};
// The offsets (and sizes) of fields in struct stat: st_dev 0 (8), st_ino 8 (8); st_nlink 16 (8) on x86_64, 20 (4) on
// arm64.
PM_INLINE void pm_read_status(const uint64_t *raw, struct pm_file_status *status) {
  status->device = raw[0];
  status->inode = raw[1];
#if defined(__aarch64__)
  status->links = raw[2] >> 32;
#else
  status->links = raw[2];
#endif
}
PM_INLINE long pm_fstat(int fd, struct pm_file_status *status) {
  uint64_t raw[18];
  long result = PM_SYSCALL(SYS_fstat, fd, raw, 0, 0, 0, 0);
  // After any error except EBADF, newfstatat is tried, because a seccomp filter may allow newfstatat but not fstat.
  if (result < 0 && result != -EBADF) result = PM_SYSCALL(SYS_newfstatat, fd, "", raw, AT_EMPTY_PATH, 0, 0);
  if (result < 0) return result;
  pm_read_status(raw, status);
  return 0;
}

// Returns the status of a file by its name, to check that the name in the pending directory still refers to the dump;
// a converter may have renamed the dump. `flags` may be AT_STATX_FORCE_SYNC, with which a network file system asks its
// server.
PM_INLINE long pm_stat_at(int directory, const char *path, int flags, struct pm_file_status *status) {
  uint64_t raw[18];
  long result = PM_SYSCALL(SYS_newfstatat, directory, path, raw, AT_SYMLINK_NOFOLLOW | flags, 0, 0);
  if (result < 0) return result;
  pm_read_status(raw, status);
  return 0;
}

// Returns whether two descriptors belong to the same open file (struct file of the kernel). F_DUPFD_QUERY exists since
// Linux 6.10; many seccomp filters refuse kcmp.
PM_INLINE bool pm_is_same_open_file(int fd, int other) {
  if (PM_SYSCALL(SYS_fcntl, fd, PM_F_DUPFD_QUERY, other, 0, 0, 0) == 1) return 1;
  long process = PM_SYSCALL(SYS_getpid, 0, 0, 0, 0, 0, 0);
  return PM_SYSCALL(SYS_kcmp, process, process, PM_KCMP_FILE, fd, other, 0) == 0;
}

// A resource limit. In a crash, the handler raises the soft limit on file sizes while it writes the dump, because with
// RLIMIT_FSIZE 0 every write fails with EFBIG, even a write to preallocated blocks.
struct pm_limit {
  uint64_t soft;
  uint64_t hard;
};
PM_INLINE long pm_file_size_limit(const struct pm_limit *limit, struct pm_limit *previous) {
  return PM_SYSCALL(SYS_prlimit64, 0, PM_RLIMIT_FSIZE, limit, previous, 0, 0);
}

// -- Memory ---------------------------------------------------------------------------------------------------------

// struct iovec
struct pm_range {
  const void *base;
  size_t count;
};

// Copies ranges of this process's memory into one buffer, one after the other. Returns the number of bytes before the
// first byte that cannot be read. If not even the first byte can be read, returns -EFAULT; no signal is raised.
// `ranges` is an array of `number` pairs with the layout of struct pm_range. Callers pass at most PM_COPIED_RANGES
// pairs.
#define PM_COPIED_RANGES 32
PM_INLINE long pm_copy_ranges(int process, void *to, size_t count, const void *ranges, size_t number) {
  struct pm_range local = {to, count};
  return PM_SYSCALL(SYS_process_vm_readv, process, &local, 1, ranges, number, 0);
}
PM_INLINE long pm_copy_memory(int process, void *to, const void *from, size_t count) {
  struct pm_range remote = {from, count};
  return pm_copy_ranges(process, to, count, &remote, 1);
}

// Maps a page of the run record, but without the right to read or write the page (see `RecordMapping`). Returns the
// page's address.
PM_INLINE long pm_map_unreadable(int fd) {
  return PM_SYSCALL(SYS_mmap, 0, 1, PROT_NONE, MAP_SHARED, fd, 0);
}
PM_INLINE long pm_keep_from_children(uintptr_t address) {
  return PM_SYSCALL(SYS_madvise, address, 1, MADV_DONTFORK, 0, 0, 0);
}
PM_INLINE long pm_unmap_page(uintptr_t address) { return PM_SYSCALL(SYS_munmap, address, 1, 0, 0, 0, 0); }

// -- Threads and signals --------------------------------------------------------------------------------------------

// Repeats a system call that never fails in the kernel, but that a seccomp filter or a tracer may make fail.
PM_INLINE long pm_syscall_again(long number) {
  long result = -1;
  for (int i = 0; i < 3 && result < 0; i++) result = PM_SYSCALL(number, 0, 0, 0, 0, 0, 0);
  return result;
}

// Returns the process ID; negative if a seccomp filter refuses the call. This function does not use libc's getpid,
// because some versions of libc cache the ID, and the cached ID is wrong in a vfork child.
PM_INLINE int pm_getpid(void) { return (int)pm_syscall_again(SYS_getpid); }
PM_INLINE int pm_getppid(void) { return (int)PM_SYSCALL(SYS_getppid, 0, 0, 0, 0, 0, 0); }

// Sends a signal to one thread, for example to stop it.
PM_INLINE long pm_tgkill(int process, int thread, int signal) {
  return PM_SYSCALL(SYS_tgkill, process, thread, signal, 0, 0, 0);
}

// Sends a signal to the process, for example if tgkill is refused. A negative ID, which a refused getpid returns, is
// not passed on. With -1, kill(2) would signal every process that it may signal; with any other negative number, it
// would signal a process group.
PM_INLINE long pm_kill(int process, int signal) {
  return process > 0 ? PM_SYSCALL(SYS_kill, process, signal, 0, 0, 0, 0) : -ESRCH;
}

// Queues a signal for one thread again, with the original siginfo, so that a previous handler and a core file show the
// true cause.
PM_INLINE long pm_tgsigqueueinfo(int process, int thread, int signal, const void *information) {
  return PM_SYSCALL(SYS_rt_tgsigqueueinfo, process, thread, signal, information, 0, 0);
}

// Queues a signal again for the whole process with the original siginfo, because the process was its original target.
PM_INLINE long pm_sigqueueinfo(int thread, int signal, const void *information) {
  return PM_SYSCALL(SYS_rt_sigqueueinfo, thread, signal, information, 0, 0, 0);
}

// The kernel's struct sigaction. This code does not use libc's struct, because libc's wrapper sets its own restorer
// and hides SA_RESTORER. Source: Linux include/linux/signal_types.h (struct sigaction), the same layout on x86_64 and
// arm64.
struct pm_signal_action {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

PM_INLINE long pm_sigaction(int signal, const struct pm_signal_action *action, struct pm_signal_action *previous) {
  return PM_SYSCALL(SYS_rt_sigaction, signal, action, previous, sizeof(uint64_t), 0, 0);
}

// Changes the signal mask. `how` is SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK; bit n - 1 stands for signal n.
PM_INLINE long pm_sigprocmask(int how, const uint64_t *mask, uint64_t *previous) {
  return PM_SYSCALL(SYS_rt_sigprocmask, how, mask, previous, sizeof(uint64_t), 0, 0);
}

// Returns whether the 8 bytes at an address can be read. The kernel copies the bytes as a new signal mask before it
// rejects the invalid operation -1. If it cannot read them, the error is EFAULT.
// Source: Linux kernel/signal.c, rt_sigprocmask.
PM_INLINE bool pm_is_readable(uint64_t address) {
  return PM_SYSCALL(SYS_rt_sigprocmask, -1, address, 0, sizeof(uint64_t), 0, 0) != -EFAULT;
}
PM_INLINE uint64_t pm_load_word(uint64_t address) { return *(const volatile uint64_t *)address; }

// Stores the pending signals in `set`. The handler uses this function and the next one, which can remove a pending
// signal, to keep the SIGPIPE or SIGXFSZ of a write from ending the process.
PM_INLINE long pm_sigpending(uint64_t *set) {
  return PM_SYSCALL(SYS_rt_sigpending, set, sizeof(uint64_t), 0, 0, 0, 0);
}
// Waits until one of the signals in `set` is pending, and removes that signal; `information` may be NULL. Returns the
// signal's number, -EAGAIN after the timeout, -EINTR, or the result that a seccomp filter sets. During the wait, the
// kernel shows the signal as not blocked by the thread. Source: Linux kernel/signal.c, do_sigtimedwait.
struct pm_signal_information {
  uint64_t words[16];
};
PM_INLINE long pm_wait_signal(const uint64_t *set, struct pm_signal_information *information, int64_t milliseconds) {
  int64_t time[2] = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  return PM_SYSCALL(SYS_rt_sigtimedwait, set, information, time, sizeof(uint64_t), 0, 0);
}

// Sets an alternate stack, for example for faults inside the handler after it has left the previous alternate stack.
// Without a new alternate stack, the kernel would start again at the top of the previous one, and overwrite a signal
// frame that is still needed. The return from the handler restores the previous alternate stack. The struct has the
// layout of stack_t.
struct pm_signal_stack {
  uint64_t base;
  int32_t flags;
  int32_t unused;
  uint64_t size;
};
PM_INLINE long pm_set_signal_stack(void *base, size_t size) {
  struct pm_signal_stack stack = {(uint64_t)base, 0, 0, size};
  return PM_SYSCALL(SYS_sigaltstack, &stack, 0, 0, 0, 0, 0);
}

// Waits for a wake-up as long as *word == expected; without a time limit if `milliseconds` is negative.
PM_INLINE long pm_futex_wait(const void *word, uint32_t expected, int64_t milliseconds) {
  int64_t time[2] = {milliseconds / 1000, milliseconds % 1000 * 1000000};  // struct timespec
  return PM_SYSCALL(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, milliseconds < 0 ? 0 : time, 0, 0);
}

PM_INLINE long pm_futex_wake(const void *word, int count) {
  return PM_SYSCALL(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, 0, 0, 0);
}

// Creates a timer that sends a signal to `thread`, or to the process if `thread` is 0. The struct has the layout of
// struct sigevent. The signal limits the time that a dump takes (see `WatchdogTimer`).
struct pm_signal_event {
  uint64_t value;
  int32_t signal;
  int32_t notify;
  int32_t thread;
  int32_t unused[11];
};
PM_INLINE long pm_timer_create(int signal, int thread, int *timer) {
  struct pm_signal_event event = {0, signal, thread == 0 ? PM_SIGEV_SIGNAL : PM_SIGEV_THREAD_ID, thread, {0}};
  return PM_SYSCALL(SYS_timer_create, CLOCK_MONOTONIC, &event, timer, 0, 0, 0);
}
PM_INLINE long pm_timer_delete(int timer) { return PM_SYSCALL(SYS_timer_delete, timer, 0, 0, 0, 0, 0); }

// Makes the timer expire every `milliseconds`; 0 disarms the timer.
PM_INLINE long pm_timer_set(int timer, int64_t milliseconds) {
  int64_t seconds = milliseconds / 1000, nanoseconds = milliseconds % 1000 * 1000000;
  // The fields of struct itimerspec: the interval, then the time until the first expiration.
  int64_t time[4] = {seconds, nanoseconds, seconds, nanoseconds};
  return PM_SYSCALL(SYS_timer_settime, timer, 0, time, 0, 0, 0);
}

// Ends the process, as a last resort if no signal has ended it.
PM_INLINE long pm_exit_group(int status) { return PM_SYSCALL(SYS_exit_group, status, 0, 0, 0, 0, 0); }

// -- Facts ----------------------------------------------------------------------------------------------------------

// Returns the time of a clock in nanoseconds, or 0 on failure. This function does not use the vDSO, because a broken
// process may have unmapped the vDSO's pages.
PM_INLINE uint64_t pm_clock(int clock) {
  int64_t time[2];  // struct timespec
  if (PM_SYSCALL(SYS_clock_gettime, clock, time, 0, 0, 0, 0) != 0) return 0;
  return (uint64_t)time[0] * 1000000000 + (uint64_t)time[1];
}
PM_INLINE uint64_t pm_wall_clock(void) { return pm_clock(CLOCK_REALTIME); }
PM_INLINE uint64_t pm_monotonic_clock(void) { return pm_clock(CLOCK_MONOTONIC); }
PM_INLINE uint64_t pm_boot_clock(void) { return pm_clock(CLOCK_BOOTTIME); }
// Returns the CPU time of the calling thread in nanoseconds, in user mode and in the kernel together.
PM_INLINE uint64_t pm_thread_processor_time(void) { return pm_clock(CLOCK_THREAD_CPUTIME_ID); }

// Stores the resource usage of the whole process in `usage`, a struct rusage of 144 bytes.
PM_INLINE long pm_getrusage(void *usage) { return PM_SYSCALL(SYS_getrusage, PM_RUSAGE_SELF, usage, 0, 0, 0, 0); }

PM_END_C

#endif
