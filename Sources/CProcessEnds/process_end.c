// Defines _exit and _Exit in the program; the dynamic linker finds these definitions before libc's. They note the exit
// in the run record. Without this note, a process that called _exit or _Exit would look as if it had been killed. This
// file also defines daemon(3), because libc's version calls libc's own _exit in the parent. See
// Docs/Decisions/21-runs-without-a-dump.md.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "CProcessEnds.h"
#include "CSignalSafe.h"

// The sanitizers' definition of _exit, which reports leaks and races, and may change the exit status; NULL without a
// sanitizer.
extern void __interceptor__exit(int) __attribute__((weak));

static _Atomic(void (*)(int)) next_exit;

static _Noreturn void end_process(int status) {
  pm_process_end_function function = pm_process_end();
  if (function) function();
  if (__interceptor__exit) __interceptor__exit(status);
  // `next_exit` need not be libc's _exit, because a library between the program and libc may also define _exit.
  void (*next)(int) = atomic_load(&next_exit);
  if (next) next(status);
  while (1) syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) void _exit(int status) { end_process(status); }
__attribute__((visibility("default"))) void _Exit(int status) { end_process(status); }

// libc's daemon; NULL in a static executable.
static _Atomic(int (*)(int, int)) next_daemon;

// Does the same as libc's daemon, for static executables. Source: glibc misc/daemon.c.
static int daemon_by_itself(int keeps_directory, int keeps_files) {
  pid_t child = fork();
  if (child == -1) return -1;
  if (child != 0) _exit(0);
  if (setsid() == -1) return -1;
  if (!keeps_directory) {
    int ignored = chdir("/");
    (void)ignored;
  }
  if (keeps_files) return 0;
  struct stat status;
  int null = open("/dev/null", O_RDWR);
  if (null == -1 || fstat(null, &status) != 0) {
    close(null);
    return -1;
  }
  if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, 3)) {
    close(null);
    errno = ENODEV;
    return -1;
  }
  for (int file = 0; file <= 2; file++) dup2(null, file);
  if (null > 2) close(null);
  return 0;
}

// Notes that the process exits, because libc's daemon calls libc's own _exit in the parent. Afterward, tells the crash
// handler whether the program continues in the child or, if daemon failed, in the parent.
__attribute__((visibility("default"))) int daemon(int keeps_directory, int keeps_files) {
  int (*next)(int, int) = atomic_load(&next_daemon);
  pm_process_end_function end = pm_process_end();
  long parent = pm_getpid();
  if (end) end();
  int result = next ? next(keeps_directory, keeps_files) : daemon_by_itself(keeps_directory, keeps_files);
  int error = errno;
  pm_continuation_function function = pm_continuation();
  if (function) function(pm_getpid() != parent);
  errno = error;
  return result;
}

// Returns 1 if calls of _exit from any library reach this definition; returns 0 if they do not, or if that cannot be
// found out, as in a static executable.
static int follows_exits(void) {
  if (dlsym(RTLD_DEFAULT, "_exit") != (void *)_exit || dlsym(RTLD_DEFAULT, "_Exit") != (void *)_Exit) return 0;
  if (!__interceptor__exit) atomic_store(&next_exit, (void (*)(int))dlsym(RTLD_NEXT, "_exit"));
  return 1;
}

__attribute__((constructor)) static void announce(void) {
  atomic_store(&next_daemon, (int (*)(int, int))dlsym(RTLD_NEXT, "daemon"));
  pm_follows_exits_storage = follows_exits;
}
