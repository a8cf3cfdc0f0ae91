// _exit and _Exit, defined in the program and therefore found before libc's by everything that calls them through the dynamic
// linker: nothing else tells a process that called them from one that was killed. A target of its own, so that a build can
// leave it out; without it neither is reported. daemon(3) is here because libc's calls its own _exit in the process that it
// leaves. See Docs/Decisions/0024-ends-that-leave-no-dump.md.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CProcessEnds.h"
#include "CSignalSafe.h"

// The sanitizers' own: they report leaks and races there, and change the status.
extern void __interceptor__exit(int) __attribute__((weak));

static _Atomic(void (*)(int)) next_exit;

static _Noreturn void end_process(int status) {
  pm_process_end_function function = pm_process_end();
  if (function) function();
  if (__interceptor__exit) __interceptor__exit(status);
  // Another library's, put between the program and libc.
  void (*next)(int) = atomic_load(&next_exit);
  if (next) next(status);
  while (1) syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) void _exit(int status) { end_process(status); }
__attribute__((visibility("default"))) void _Exit(int status) { end_process(status); }

// In the process that is left, libc's daemon ends in an _exit that is not to be seen: the note is made before, and the handler
// takes it back where the process goes on.
__attribute__((visibility("default"))) int daemon(int keeps_folder, int keeps_files) {
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "daemon");
  if (!next) return -1;
  pm_process_end_function function = pm_process_end();
  if (function) function();
  int result = next(keeps_folder, keeps_files);
  pm_process_end_function undo = pm_process_end_undo();
  if (undo) undo();
  return result;
}

// 1 if a call from any library comes here, and the linker has not left that to libc's: a static executable cannot tell.
static int follows_exits(void) {
  if (dlsym(RTLD_DEFAULT, "_exit") != (void *)_exit || dlsym(RTLD_DEFAULT, "_Exit") != (void *)_Exit) return 0;
  if (!__interceptor__exit) atomic_store(&next_exit, (void (*)(int))dlsym(RTLD_NEXT, "_exit"));
  return 1;
}

__attribute__((constructor)) static void announce(void) { pm_follows_exits_storage = follows_exits; }
