// Calls the functions that this package defines in front of libc's, or libc's own, with the same arguments. Prints what
// they return, errno, and what they did; the output must be the same.
#define _GNU_SOURCE
#include "functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "CCrashLab.h"

struct functions functions;
void *functions_nowhere, *functions_read_only;

static void *libcs(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found || found == dlsym(RTLD_DEFAULT, name)) {
    use_say("%s is not in front of libc's\n", name);
    _exit(70);
  }
  return found;
}

static void choose(bool own) {
  if (own) {
    functions = (struct functions){pthread_sigmask, sigprocmask, signalfd, sigaltstack, pthread_create,
                                   daemon,          _exit,       _Exit,    abort};
    return;
  }
  functions.pthread_sigmask = libcs("pthread_sigmask");
  functions.sigprocmask = libcs("sigprocmask");
  functions.signalfd = libcs("signalfd");
  functions.sigaltstack = libcs("sigaltstack");
  functions.pthread_create = libcs("pthread_create");
  functions.daemon = libcs("daemon");
  functions.exit = libcs("_exit");
  functions.exit_too = libcs("_Exit");
  functions.abort = libcs("abort");
}

void functions_in_child(const char *name, void (*body)(const void *), const void *argument) {
  pid_t child = fork();
  if (child == 0) {
    body(argument);
    _exit(0);
  }
  use_await(child, name);
}

bool crashlab_compare_functions(const char *whose) {
  if (strcmp(whose, "own") != 0 && strcmp(whose, "libc") != 0) return false;
  choose(strcmp(whose, "own") == 0);
  functions_nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  functions_read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  functions_compare_masks();
  functions_compare_stacks();
  functions_compare_threads();
  functions_compare_ends();
  functions_compare_daemons();
  return true;
}
