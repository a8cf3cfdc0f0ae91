// Alternate stacks of the sizes that were common before vector registers grew: SIGSTKSZ was 8,192,
// MINSIGSTKSZ 2,048.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CCrashLab.h"

enum { crowd = 64 };
static crashlab_body held_body;
static void *held_context;
static size_t stack_size;
static pthread_barrier_t barrier;

// The stack has an inaccessible guard page below it, as in a careful program.
static void use_small_stack(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (stack_size + page - 1) / page * page;
  char *place = mmap(NULL, page + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (place == MAP_FAILED || mprotect(place + page, size, PROT_READ | PROT_WRITE) != 0) abort();
  stack_t stack = {.ss_sp = place + page, .ss_size = stack_size};
  if (sigaltstack(&stack, NULL) != 0) abort();
}

static void crash_together(void) {
  pthread_barrier_wait(&barrier);
  held_body(held_context);
}

static void *crash_on_small_stack(void *argument) {
  use_small_stack();
  crash_together();
  return argument;
}

static void on_signal(int signal) {
  (void)signal;
  crash_together();
}

static void *crash_in_handler(void *argument) {
  use_small_stack();
  pthread_kill(pthread_self(), SIGUSR1);
  return argument;
}

static void run_crowd(crashlab_body body, void *context, size_t size, void *(*run)(void *)) {
  held_body = body;
  held_context = context;
  stack_size = size;
  pthread_barrier_init(&barrier, NULL, crowd);
  pthread_t threads[crowd];
  for (int index = 0; index < crowd; index++)
    if (pthread_create(&threads[index], NULL, run, NULL) != 0) abort();
  for (int index = 0; index < crowd; index++) pthread_join(threads[index], NULL);
}

void condition_on_small_stacks(crashlab_body body, void *context, unsigned size) {
  run_crowd(body, context, size, crash_on_small_stack);
}

void condition_in_handler_on_small_stacks(crashlab_body body, void *context, unsigned size) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  run_crowd(body, context, size, crash_in_handler);
}
