// Finds a scene by its name; the helpers of all scenes.
#define _GNU_SOURCE
#include "uses.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"

static const struct use *const families[] = {
    uses_of_masks, uses_of_aborts, uses_of_jumps, uses_of_contexts, uses_of_waits, uses_of_requests,
    uses_of_notices, uses_of_timers, uses_of_programs, uses_of_stacks, uses_of_threads, uses_of_limits,
    uses_of_dumps,
};

static const struct use *found(const char *name) {
  for (size_t family = 0; family < sizeof families / sizeof *families; family++)
    for (const struct use *use = families[family]; use->name; use++)
      if (strcmp(use->name, name) == 0) return use;
  return NULL;
}

bool crashlab_prepare_use(const char *name) {
  const struct use *use = found(name);
  if (use && use->before) use->before();
  return use != NULL;
}

void crashlab_run_use(const char *name) { found(name)->run(); }

void crashlab_list_uses(void) {
  for (size_t family = 0; family < sizeof families / sizeof *families; family++)
    for (const struct use *use = families[family]; use->name; use++) use_say("%s\n", use->name);
}

void use_say(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size < 0 || size >= (int)sizeof text || write(STDOUT_FILENO, text, (size_t)size) != size) _exit(71);
}

static sigset_t collect(int first, va_list rest) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = first; signal != 0; signal = va_arg(rest, int)) sigaddset(&set, signal);
  return set;
}

sigset_t use_set(int first, ...) {
  va_list rest;
  va_start(rest, first);
  sigset_t set = collect(first, rest);
  va_end(rest);
  return set;
}

uint64_t use_word(const sigset_t *set) {
  uint64_t bits = 0;
  memcpy(&bits, set, sizeof bits);
  return bits;
}

uint64_t use_mask(void) {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, NULL, &set);
  return use_word(&set) & ~USES_FAULTS;
}

void use_block(int first, ...) {
  va_list rest;
  va_start(rest, first);
  sigset_t set = collect(first, rest);
  va_end(rest);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void use_block_all(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
}

static void tell(const char *name, uint64_t mask) {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  use_say("%s: blocks %016llx, pending %016llx\n", name, (unsigned long long)mask,
          (unsigned long long)use_word(&pending));
}

void use_tell(const char *name) { tell(name, use_mask()); }

void use_handle(int signal, use_handler handler, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  if (sigaction(signal, &action, NULL) != 0) _exit(72);
}

static pid_t sent(int signal, int queues) {
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    int result = queues ? sigqueue(parent, signal, (union sigval){.sival_int = 42}) : kill(parent, signal);
    _exit(result == 0 ? 0 : 73);
  }
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  if (status != 0) _exit(73);
  return child;
}

pid_t use_send(int signal) { return sent(signal, 0); }
pid_t use_queue(int signal) { return sent(signal, 1); }

pthread_t use_start(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) _exit(74);
  return thread;
}

void use_await(pid_t child, const char *name) {
  int status = 0;
  while (waitpid(child, &status, 0) == -1)
    if (errno != EINTR) _exit(75);
  if (WIFSIGNALED(status)) {
    use_say("%s: signal %d\n", name, WTERMSIG(status));
  } else {
    use_say("%s: status %d\n", name, WEXITSTATUS(status));
  }
}

void use_in_child(const char *name, void (*body)(void)) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  use_await(child, name);
}

void use_wait_for(volatile int *word, int value) {
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < value) {
    struct timespec time = {0, 100000};
    nanosleep(&time, NULL);
  }
}

char *use_locked_page(void) { return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

void use_unlock_page(const void *address) {
  void *page = (void *)((uintptr_t)address & ~(uintptr_t)4095);
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) _exit(76);
}

void crashlab_block(int signal) { use_block(signal, 0); }

int crashlab_wait_for(int signal) {
  sigset_t set = use_set(signal, 0);
  int taken = 0;
  return sigwait(&set, &taken) == 0 ? taken : -1;
}

void crashlab_send(int signal) { use_send(signal); }

bool crashlab_is_pending(int signal) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

void crashlab_tell(const char *name) { tell(name, use_mask() & ~(1ull << (SIGABRT - 1))); }
