// Threads whose stacks have no room for a signal frame: if a signal is sent to them, the kernel
// ends the process by SIGSEGV.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "CCrashLab.h"

enum { page = 4096, mark = 0xA5, marked = 1024 };
static sem_t ready;
// The bytes below the stack of 3,000 bytes, in the same mapping.
static unsigned char *beside_small_stack;

static void rest(bool spins) {
  sem_post(&ready);
  static volatile unsigned long turns;
  while (true) {
    if (spins) turns++;
    else pause();
  }
}

static char *use_stack(size_t size) {
  char *place = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) abort();
  stack_t stack = {.ss_sp = place + page, .ss_size = size};
  if (sigaltstack(&stack, NULL) != 0) abort();
  return place;
}

static void *with_2k(void *argument) {
  use_stack(2048);
  rest(argument != NULL);
  return NULL;
}

static void *with_3000(void *argument) {
  beside_small_stack = (unsigned char *)use_stack(3000) + page - marked;
  memset(beside_small_stack, mark, marked);
  rest(false);
  return argument;
}

static void *with_unmapped(void *argument) {
  munmap(use_stack(16 * page), 17 * page);
  rest(false);
  return argument;
}

static void on_signal(int signal) {
  volatile char used[2048];
  memset((char *)used, signal, sizeof used);
  rest(signal == SIGUSR2);
}

static void *in_handler_on_8k(void *argument) {
  use_stack(8192);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  int signal = argument ? SIGUSR2 : SIGUSR1;
  sigaction(signal, &action, NULL);
  pthread_kill(pthread_self(), signal);
  return NULL;
}

// Runs on a thread without an alternate signal stack, near the end of the thread's stack.
static void *on_used_stack(void *argument) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  pthread_attr_t attributes;
  void *base;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) abort();
  pthread_attr_getstack(&attributes, &base, &size);
  volatile char *used = alloca((size_t)((char *)__builtin_frame_address(0) - (char *)base) - 6144);
  used[0] = 1;
  rest(false);
  return argument;
}

void condition_cramped_threads(void) {
  static const struct {
    void *(*run)(void *);
    const char *name;
    bool spins;
  } kinds[] = {
      {with_2k, "2k", false},
      {with_2k, "2k-spins", true},
      {with_3000, "3000", false},
      {with_unmapped, "unmapped", false},
      {in_handler_on_8k, "handler", false},
      {in_handler_on_8k, "handler-spins", true},
      {on_used_stack, "used", false},
  };
  // Selects a single thread, to show that the tests notice each of them.
  const char *only = getenv("CRASHLAB_CRAMPED");
  sem_init(&ready, 0, 0);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (only && strcmp(only, kinds[i].name) != 0) continue;
    pthread_t thread;
    if (pthread_create(&thread, NULL, kinds[i].run, (void *)kinds[i].spins) != 0) abort();
    pthread_setname_np(thread, kinds[i].name);
    sem_wait(&ready);
  }
  // Waits until the threads sleep, after the post.
  usleep(20000);
}

// Runs on the alternate stack itself, like a handler.
static ucontext_t on_small_stack, before_small_stack;

static void stand_there(void) { rest(false); }

void condition_cramp_caller(const char *kind) {
  sem_init(&ready, 0, 0);
  char *place = use_stack(strcmp(kind, "handler") == 0 ? 8192 : 2048);
  if (strcmp(kind, "handler") == 0) in_handler_on_8k(NULL);
  if (strcmp(kind, "on-2k") != 0) return;
  getcontext(&on_small_stack);
  on_small_stack.uc_stack = (stack_t){.ss_sp = place + page, .ss_size = 2048};
  makecontext(&on_small_stack, stand_there, 0);
  swapcontext(&before_small_stack, &on_small_stack);
}

bool condition_is_small_stack_intact(void) {
  for (int i = 0; beside_small_stack && i < marked; i++)
    if (beside_small_stack[i] != mark) return false;
  return true;
}
