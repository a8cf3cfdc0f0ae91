// Defines sigaltstack in the program, so that code that sends a signal to a thread knows the thread's alternate
// stack; see pm_told_stacks.h. This definition makes the system call itself, because a static executable contains no
// other sigaltstack that it could call.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>

#include "CSignalSafe.h"

// ThreadSanitizer calls sigaltstack before it is ready to run other code. So in a program with ThreadSanitizer, this
// definition records nothing; the handler is not installed there anyway.
extern void __tsan_init(void) __attribute__((weak));

__attribute__((visibility("default"), disable_sanitizer_instrumentation)) int sigaltstack(const stack_t *restrict stack,
                                                                                           stack_t *restrict previous) {
  long result = PM_SYSCALL(SYS_sigaltstack, stack, previous, 0, 0, 0, 0);
  if (result < 0) {
    errno = (int)-result;
    return -1;
  }
  // The new stack is asked from the kernel, because the kernel may have written `previous` over it.
  if (stack && !__tsan_init) pm_tell_own_stack();
  return 0;
}
