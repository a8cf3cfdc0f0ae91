// The kernel's constants under their usual names, for crash code. This module's headers cannot include the system
// headers that define these constants (see pm_system_calls.h), and crash code cannot import Glibc. The file pm_layout.c
// compares most of these constants with the system's headers.
//
// The values are written as in glibc, because Swift treats two macros as the same only if their tokens are the same.
#ifndef PM_CONSTANTS_H
#define PM_CONSTANTS_H

#include <stdint.h>

// Without these pragmas, the compiler would warn about redefined macros in files that include the system's headers
// before this header. System headers that are included later may redefine the macros without a warning.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmacro-redefined"
#pragma clang diagnostic ignored "-Wreserved-macro-identifier"

// errno(3)
#define ENOENT 2
#define ESRCH 3
#define EINTR 4
#define EIO 5
#define EBADF 9
#define EAGAIN 11
#define EACCES 13
#define EFAULT 14
#define EFBIG 27
#define EPIPE 32
#define ENOSYS 38
#define ENOBUFS 105

// signal(7)
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGSEGV 11
#define SIGPIPE 13
#define SIGTERM 15
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGPROF 27
// glibc's internal signal, with which setuid(2) and similar calls change the IDs of all threads. No libc function lets
// a program block this signal, wait for it or set its action. Source: glibc
// sysdeps/unix/sysv/linux/internal-signals.h.
#define SIGSETXID 33
#define SIGSYS 31

// sigprocmask(2), sigaction(2)
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
#define SA_ONSTACK 0x08000000
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000

// open(2)
#define O_RDONLY 00
#define O_WRONLY 01
#define O_RDWR 02
#define O_CREAT 0100
#define O_EXCL 0200
#define O_TRUNC 01000
#define O_NONBLOCK 04000
#if defined(__aarch64__)
#define __O_DIRECTORY 040000
#define __O_NOFOLLOW 0100000
#else
#define __O_DIRECTORY 0200000
#define __O_NOFOLLOW 0400000
#endif
#define __O_CLOEXEC 02000000
#define O_DIRECTORY __O_DIRECTORY
#define O_NOFOLLOW __O_NOFOLLOW
#define O_CLOEXEC __O_CLOEXEC
#define AT_FDCWD -100
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EMPTY_PATH 0x1000
#define AT_STATX_FORCE_SYNC 0x2000
#define SEEK_CUR 1
#define STDERR_FILENO 2
#define F_GETFL 3
#define F_DUPFD_CLOEXEC 1030
#define FALLOC_FL_KEEP_SIZE 0x01
#define GRND_NONBLOCK 0x01

// poll(2)
#define POLLOUT 0x004
#define POLLERR 0x008
#define POLLHUP 0x010
#define POLLNVAL 0x020

// mmap(2), madvise(2), unshare(2), futex(2), clock_gettime(2)
#define PROT_NONE 0x0
#define MAP_SHARED 0x01
#define MADV_DONTFORK 10
#define CLONE_FILES 0x00000400
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_PRIVATE_FLAG 128
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_BOOTTIME 7

// elf(5)
#define ELFCLASS64 2
#define PT_LOAD 1
#define PT_DYNAMIC 2
#define PT_NOTE 4
#define PT_GNU_EH_FRAME 0x6474e550
#define PF_X 1
#define NT_GNU_BUILD_ID 3

#pragma clang diagnostic pop

// In glibc, most of the constants below are enumerators, which macros with the same names would break. So in C, these
// constants have the prefix `PM_`. In Swift, those with PM_NAMED keep the kernel's names.
#define PM_NAMED(name) __attribute__((swift_name(#name)))

// sigaction(2), "The si_code field"
enum : int32_t {
  PM_SI_USER PM_NAMED(SI_USER) = 0,
  PM_SI_QUEUE PM_NAMED(SI_QUEUE) = -1,
  PM_SI_TIMER PM_NAMED(SI_TIMER) = -2,
  PM_SI_MESGQ PM_NAMED(SI_MESGQ) = -3,
  PM_SI_TKILL PM_NAMED(SI_TKILL) = -6,
  PM_SI_KERNEL PM_NAMED(SI_KERNEL) = 0x80,
  PM_SEGV_MAPERR PM_NAMED(SEGV_MAPERR) = 1,
  PM_SEGV_PKUERR PM_NAMED(SEGV_PKUERR) = 4,
  PM_BUS_ADRERR PM_NAMED(BUS_ADRERR) = 2,
  PM_BUS_MCEERR_AR PM_NAMED(BUS_MCEERR_AR) = 4,
  PM_BUS_MCEERR_AO PM_NAMED(BUS_MCEERR_AO) = 5,
  PM_TRAP_BRKPT PM_NAMED(TRAP_BRKPT) = 1,
};

// sigaction(2): special values that stand for a handler
enum : uint64_t {
  PM_SIG_DFL PM_NAMED(SIG_DFL) = 0,
  PM_SIG_IGN PM_NAMED(SIG_IGN) = 1,
};

// sigaction(2), sigaltstack(2), timer_create(2), getrusage(2), getrlimit(2); only for this module's headers
enum {
  // Some versions of glibc lack these two constants in their headers. Source: Linux
  // include/uapi/asm-generic/siginfo.h.
  PM_SYS_SECCOMP = 1,
  PM_SYS_USER_DISPATCH = 2,
  PM_SS_ONSTACK = 1,
  PM_SS_DISABLE = 2,
  PM_SIGEV_SIGNAL = 0,
  PM_SIGEV_THREAD_ID = 4,
  PM_RUSAGE_SELF = 0,
  PM_RLIMIT_FSIZE = 1,
  // Newer than some systems' headers: asm/unistd.h (the same number on all architectures), linux/fcntl.h
  // (F_LINUX_SPECIFIC_BASE + 3), linux/kcmp.h.
  PM_SYS_CLOSE_RANGE = 436,
  PM_F_DUPFD_QUERY = 1027,
  PM_KCMP_FILE = 0,
  PM_S_IFIFO = 0010000,
};

#endif
