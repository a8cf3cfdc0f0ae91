// Defines posix_spawn and the exec functions in the program, so that the started program begins with the signal mask
// that the calling thread requested. See Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CSignalMasks.h"

#define EXPORTED __attribute__((visibility("default")))

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                           char *const[], char *const[]);
typedef int exec_function(const char *, char *const[], char *const[]);

// The sanitizers' definitions of posix_spawn and posix_spawnp, which are called instead of libc's if the program has
// them.
extern spawn_function __interceptor_posix_spawn __attribute__((weak));
extern spawn_function __interceptor_posix_spawnp __attribute__((weak));
// libc's internal names of posix_spawn, posix_spawnp, execve and execvpe, which are used only in static executables.
extern spawn_function __posix_spawn __attribute__((weak));
extern int __spawni(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                    char *const[], int) __attribute__((weak));
extern exec_function __execve __attribute__((weak));
extern exec_function __execvpe __attribute__((weak));
// In a static executable, the reference to `system` makes the linker include the members of libc.a that define these
// internal names.
int (*const pm_needs_spawn)(const char *) __attribute__((used, visibility("hidden"))) = system;

static spawn_function *next_spawn, *next_spawnp;
static exec_function *next_exec, *next_search;

static int search_and_spawn(pid_t *process, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
  // The last argument, SPAWN_XFLAGS_USE_PATH, makes the function search for the program in PATH. Source: glibc
  // posix/spawn_int.h.
  return __spawni(process, file, actions, attributes, arguments, environment, 1);
}

static void *next(const char *name, void *interceptor, void *inner) {
  void *found = interceptor ? interceptor : dlsym(RTLD_NEXT, name);
  return found ? found : inner;
}

// This function runs when the program starts, so that a vfork child, which runs in its parent's memory, need not look
// the functions up.
__attribute__((constructor)) static void find_next(void) {
  next_spawn = next("posix_spawn", __interceptor_posix_spawn, __posix_spawn);
  next_spawnp = next("posix_spawnp", __interceptor_posix_spawnp, search_and_spawn);
  next_exec = next("execve", NULL, __execve);
  next_search = next("execvpe", NULL, __execvpe);
}

static int spawn(spawn_function *function, pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
  uint64_t opened = pm_block_as_asked();
  int result = function(process, path, actions, attributes, arguments, environment);
  pm_open_again(opened);
  return result;
}

EXPORTED int posix_spawn(pid_t *restrict process, const char *restrict path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                         char *const environment[restrict]) {
  if (!next_spawn) find_next();
  return spawn(next_spawn, process, path, actions, attributes, arguments, environment);
}

EXPORTED int posix_spawnp(pid_t *restrict process, const char *restrict file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                          char *const environment[restrict]) {
  if (!next_spawnp) find_next();
  return spawn(next_spawnp, process, file, actions, attributes, arguments, environment);
}

// Replaces the process with another program; returns only on failure.
static int become(exec_function *const *function, const char *path, char *const arguments[], char *const environment[]) {
  if (!*function) find_next();
  uint64_t opened = pm_block_as_asked();
  (*function)(path, arguments, environment);
  int error = errno;
  pm_open_again(opened);
  errno = error;
  return -1;
}

EXPORTED int execve(const char *path, char *const arguments[], char *const environment[]) {
  return become(&next_exec, path, arguments, environment);
}
EXPORTED int execv(const char *path, char *const arguments[]) { return become(&next_exec, path, arguments, environ); }
EXPORTED int execvpe(const char *file, char *const arguments[], char *const environment[]) {
  return become(&next_search, file, arguments, environment);
}
EXPORTED int execvp(const char *file, char *const arguments[]) { return become(&next_search, file, arguments, environ); }

static int become_open_file(const char *path, char *const arguments[], char *const environment[]) {
  return (int)syscall(SYS_execveat, (int)(intptr_t)path, "", arguments, environment, AT_EMPTY_PATH);
}
EXPORTED int fexecve(int file, char *const arguments[], char *const environment[]) {
  static exec_function *const function = become_open_file;
  if (file < 0 || !environment) {
    errno = EINVAL;
    return -1;
  }
  return become(&function, (const char *)(intptr_t)file, arguments, environment);
}

// Defines `arguments`, which contains `first` and the arguments after it, up to and including NULL. `list` then points
// after that NULL, to the environment if the caller has passed one. This code does not use malloc, because a vfork
// child may run it.
#define COLLECT(first)                                                   \
  va_list list;                                                          \
  size_t count = 1;                                                      \
  va_start(list, first);                                                 \
  for (const char *each = first; each; count++) each = va_arg(list, const char *); \
  va_end(list);                                                          \
  char **arguments = alloca(count * sizeof *arguments);                  \
  arguments[0] = (char *)first;                                          \
  va_start(list, first);                                                 \
  for (size_t index = 1; index < count; index++) arguments[index] = va_arg(list, char *)

EXPORTED int execl(const char *path, const char *first, ...) {
  COLLECT(first);
  va_end(list);
  return become(&next_exec, path, arguments, environ);
}
EXPORTED int execlp(const char *file, const char *first, ...) {
  COLLECT(first);
  va_end(list);
  return become(&next_search, file, arguments, environ);
}
EXPORTED int execle(const char *path, const char *first, ...) {
  COLLECT(first);
  char *const *environment = va_arg(list, char *const *);
  va_end(list);
  return become(&next_exec, path, arguments, environment);
}
