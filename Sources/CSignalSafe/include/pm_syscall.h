// Makes system calls without libc. The wrappers in libc write errno and may be cancellation points, and neither is
// allowed on a thread that has just crashed.
#ifndef PM_SYSCALL_H
#define PM_SYSCALL_H

#include "pm_annotations.h"

PM_BEGIN_C

// Makes a system call and returns the kernel's result. The code is in pm_control_<architecture>.S. Crash code makes all
// its system calls here, so that the handler can distinguish its own trapped calls (SECCOMP_RET_TRAP) from the
// program's by their address. Source: syscall(2).
PM_CRASH_TIME long pm_syscall6(long number, long a, long b, long c, long d, long e, long f);

#define PM_SYSCALL(number, a, b, c, d, e, f) \
  pm_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

PM_END_C

#endif
