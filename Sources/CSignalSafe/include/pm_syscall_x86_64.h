// System calls on x86_64 without libc, whose wrappers write errno and may be cancellation points: wrong on a thread that has
// just crashed.
// Source: System V ABI AMD64 supplement, A.2.1 (arguments in rdi rsi rdx r10 r8 r9, rcx and r11 destroyed); syscall(2).
#ifndef PM_SYSCALL_X86_64_H
#define PM_SYSCALL_X86_64_H
#if defined(__x86_64__)

#include "pm_annotations.h"

PM_INLINE long pm_syscall6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#endif
#endif
