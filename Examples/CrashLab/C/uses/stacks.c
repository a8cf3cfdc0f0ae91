// Alternate stacks.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

// Source: linux/signal.h, which cannot be included together with signal.h.
#define SS_AUTODISARM (1u << 31)

enum { large = 64 << 10, medium = 24 << 10 };
static char *base;
static volatile sig_atomic_t calls;
static sigjmp_buf place;

static stack_t stack_at(void *memory, size_t size, int flags) {
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = memory;
  stack.ss_size = size;
  stack.ss_flags = flags;
  return stack;
}
static void *memory(size_t size) {
  return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// Prints the present stack relative to `base`.
static void tell(const char *name) {
  stack_t now;
  memset(&now, 0, sizeof now);
  int result = sigaltstack(NULL, &now);
  use_say("%s: %d, base %+ld, size %zu, flags %x\n", name, result,
          now.ss_flags & SS_DISABLE ? 0l : (long)((char *)now.ss_sp - base), now.ss_flags & SS_DISABLE ? 0 : now.ss_size,
          now.ss_flags);
}
static void set(const char *name, stack_t stack) {
  errno = 0;
  int result = sigaltstack(&stack, NULL);
  use_say("%s: %d %d\n", name, result, result == 0 ? 0 : errno);
  tell(name);
}

static void set_each(void) {
  base = memory(4 * large);
  set("large", stack_at(base, large, 0));
  set("medium", stack_at(base + large, medium, 0));
  set("too small", stack_at(base, 512, 0));
  set("wrong flags", stack_at(base, large, 77));
  set("on a stack", stack_at(base, large, SS_ONSTACK));
  set("disarmed", stack_at(base + 2 * large, large, (int)SS_AUTODISARM));
  set("none", stack_at(NULL, 0, SS_DISABLE));
  stack_t stack = stack_at(base, large, 0), other = stack_at(base + large, medium, 0);
  sigaltstack(&stack, NULL);
  int result = sigaltstack(&other, &other);
  use_say("same place: %d, base %+ld, size %zu\n", result, (long)((char *)other.ss_sp - base), other.ss_size);
  tell("same place");
  errno = 0;
  result = sigaltstack(crashlab_address(8), NULL);
  use_say("no memory: %d %d\n", result, errno);
  errno = 0;
  result = sigaltstack(NULL, crashlab_address(8));
  use_say("nowhere: %d %d\n", result, errno);
  tell("last");
}

// The swap of two stacks in one place, with a small one among them, and then signals on it.
static void count_call(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  char here;
  calls++;
  use_say("on the stack at %d\n", &here >= base && &here < base + 4 * large ? (int)((&here - base) / large) : -1);
}
static void swap_in_place(void) {
  base = memory(4 * large);
  use_handle(SIGUSR1, count_call, SA_ONSTACK);
  stack_t now = stack_at(base, large, 0);
  sigaltstack(&now, NULL);
  raise(SIGUSR1);
  now = stack_at(base + 2 * large, large, 0);
  for (int round = 0; round < 4; round++) {
    sigaltstack(&now, &now);
    raise(SIGUSR1);
  }
  now.ss_flags = SS_DISABLE;
  sigaltstack(&now, &now);
  raise(SIGUSR1);
}

static void change_in_handler(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  tell("in the handler");
  set("changed there", stack_at(base + large, large, 0));
}
static void set_in_handlers(void) {
  base = memory(4 * large);
  set("first", stack_at(base, large, 0));
  use_handle(SIGUSR1, change_in_handler, SA_ONSTACK);
  raise(SIGUSR1);
  tell("after it");
  use_handle(SIGUSR1, change_in_handler, 0);
  raise(SIGUSR1);
  tell("after the other");
  set("disarmed", stack_at(base, large, (int)SS_AUTODISARM));
  use_handle(SIGUSR1, change_in_handler, SA_ONSTACK);
  raise(SIGUSR1);
  tell("after the last");
}

static volatile int deeper = 1;
static int recurse(int depth) {
  char frame[512];
  memset(frame, depth, sizeof frame);
  return deeper ? recurse(depth + 1) + frame[depth % 512] : 0;
}
static void leave(int signal, siginfo_t *information, void *context) {
  (void)information, (void)context;
  use_say("handler of %d\n", signal);
  sigset_t none = use_set(0), before = use_set(0);
  pthread_sigmask(SIG_SETMASK, &none, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  siglongjmp(place, 1);
}
static void before_overflow(void) {
  base = memory(4 * large);
  stack_t stack = stack_at(base, large, 0);
  sigaltstack(&stack, NULL);
  use_handle(SIGSEGV, leave, SA_ONSTACK);
}
static void overflow_each(void) {
  for (int round = 0; round < 3; round++) {
    if (sigsetjmp(place, 1) == 0) use_say("%d\n", recurse(0));
    use_tell("left");
  }
}
static void *overflow_on_thread(void *argument) {
  char *own = memory(large);
  stack_t stack = stack_at(own, large, 0), none = stack_at(NULL, 0, SS_DISABLE);
  sigaltstack(&stack, NULL);
  overflow_each();
  sigaltstack(&none, NULL);
  munmap(own, large);
  return argument;
}
static void overflow_on_threads(void) {
  for (int round = 0; round < 3; round++) {
    pthread_join(use_start(overflow_on_thread, NULL), NULL);
  }
}

// A program that handles signals on small stacks of its own threads, while others come and go.
static void *use_small(void *argument) {
  size_t size = getauxval(AT_MINSIGSTKSZ);
  size = (size == 0 ? 4096 : size) + 4096;
  char *own = memory(large);
  stack_t stack = stack_at(own, size, 0), none = stack_at(NULL, 0, SS_DISABLE);
  sigaltstack(&stack, NULL);
  for (int round = 0; round < 20; round++) raise(SIGUSR2);
  sigaltstack(&none, NULL);
  munmap(own, large);
  return argument;
}
static volatile int small_calls;
static void count_small(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  __atomic_add_fetch(&small_calls, 1, __ATOMIC_SEQ_CST);
}
static void use_small_stacks(void) {
  pthread_t threads[8];
  use_handle(SIGUSR2, count_small, SA_ONSTACK);
  for (int round = 0; round < 5; round++) {
    for (int index = 0; index < 8; index++) threads[index] = use_start(use_small, NULL);
    for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
  }
  use_say("%d calls\n", small_calls);
}

// A thread that ends with its own stack, which is unmapped later.
static void *leave_stack(void *own) {
  stack_t stack = stack_at(own, large, 0);
  sigaltstack(&stack, NULL);
  return own;
}
static void unmap_stacks(void) {
  for (int round = 0; round < 20; round++) {
    void *own = memory(large);
    pthread_join(use_start(leave_stack, own), NULL);
    munmap(own, large);
  }
  use_say("unmapped\n");
}

const struct use uses_of_stacks[] = {
    {"stacks-set", NULL, set_each},
    {"stacks-swapped", NULL, swap_in_place},
    {"stacks-in-handlers", NULL, set_in_handlers},
    {"stacks-overflow", before_overflow, overflow_each},
    {"stacks-overflow-threads", before_overflow, overflow_on_threads},
    {"stacks-small", NULL, use_small_stacks},
    {"stacks-unmapped", NULL, unmap_stacks},
    {NULL, NULL, NULL},
};
