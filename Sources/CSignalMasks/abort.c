// Defines abort in the program. Since version 2.41, glibc's abort no longer unblocks SIGABRT before sending it. If the
// thread blocks SIGABRT, glibc's abort then removes the handler and ends the process without a dump. So this definition
// unblocks SIGABRT first. Calls of abort inside libc do not reach this definition. See
// Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

#include "CSignalMasks.h"
#include "CSignalSafe.h"

// Does the same as libc's abort, for static executables, in which libc's abort cannot be found. Source: glibc
// stdlib/abort.c.
static void abort_by_itself(void) {
  uint64_t signal = PM_ABORT;
  struct pm_signal_action action = {0};
  if (pm_abort_opens_its_signal()) pm_sigprocmask(SIG_UNBLOCK, &signal, NULL);
  for (int attempt = 0; attempt < 2; attempt++) {
    pm_tgkill((int)pm_getpid(), (int)pm_gettid(), SIGABRT);
    pm_sigaction(SIGABRT, &action, NULL);
    pm_sigprocmask(SIG_UNBLOCK, &signal, NULL);
  }
  __builtin_trap();
}

// The sanitizers' definition of abort; NULL in a program without a sanitizer.
extern void __interceptor_abort(void) __attribute__((weak));

static _Atomic(void (*)(void)) next_abort;

// Looking up the next abort takes the dynamic linker's lock. The lookup is done when the program starts, because a
// thread that later calls abort may already hold that lock.
__attribute__((constructor)) static void find_next(void) {
  void (*found)(void) = __interceptor_abort ? __interceptor_abort : (void (*)(void))dlsym(RTLD_NEXT, "abort");
  __c11_atomic_store(&next_abort, found ? found : abort_by_itself, __ATOMIC_SEQ_CST);
}

// This definition is weak, because a static executable may also contain libc's definition, in an object file that the
// executable needs for other functions. The function jumps to the next definition of `abort`, so that its own frame
// does not remain on the stack.
__attribute__((visibility("default"), weak)) void pm_abort(void) __asm__("abort");
void pm_abort(void) {
  uint64_t mask = 0;
  if (pm_takes_abort() && pm_sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && mask & PM_ABORT) {
    // Without this package, no handler would run. PM_ABORTS_BLOCKED tells the crash handler so.
    mask = (mask & ~PM_ABORT) | PM_ABORTS_BLOCKED;
    pm_sigprocmask(SIG_SETMASK, &mask, NULL);
  }
  void (*next)(void) = __c11_atomic_load(&next_abort, __ATOMIC_SEQ_CST);
  if (!next) find_next();
  __attribute__((musttail)) return __c11_atomic_load(&next_abort, __ATOMIC_SEQ_CST)();
}
