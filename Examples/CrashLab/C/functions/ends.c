// Compares _exit, _Exit and abort.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "functions.h"

struct ending {
  int function, status;
};

static void at_exit(void) { use_say("an exit handler ran\n"); }
static void end(const void *argument) {
  const struct ending *ending = argument;
  atexit(at_exit);
  at_quick_exit(at_exit);
  printf("not written");
  (ending->function ? functions.exit_too : functions.exit)(ending->status);
}
static void *end_there(void *argument) {
  end(argument);
  return NULL;
}
static void end_on_thread(const void *argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, end_there, (void *)(uintptr_t)argument);
  for (;;) pause();
}
static void end_blocking_all(const void *argument) {
  uint64_t all = ~0ull;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
  end(argument);
}

static sigjmp_buf place;
static void leave(int signal, siginfo_t *information, void *context) {
  (void)context;
  use_say("handler of %d, code %d, own: %d\n", signal, information->si_code, information->si_pid == getpid());
  siglongjmp(place, 1);
}
static void come_back(int signal, siginfo_t *information, void *context) {
  (void)context;
  use_say("handler of %d, code %d, own: %d\n", signal, information->si_code, information->si_pid == getpid());
}
static void abort_plainly(const void *argument) {
  (void)argument;
  atexit(at_exit);
  printf("not written");
  functions.abort();
}
static void abort_blocking(const void *argument) {
  use_block_all();
  abort_plainly(argument);
}
static void abort_ignoring(const void *argument) {
  signal(SIGABRT, SIG_IGN);
  abort_plainly(argument);
}
static void abort_ignoring_and_blocking(const void *argument) {
  signal(SIGABRT, SIG_IGN);
  abort_blocking(argument);
}
static void abort_noted(const void *argument) {
  use_handle(SIGABRT, come_back, 0);
  abort_plainly(argument);
}
static void abort_noted_and_blocking(const void *argument) {
  use_handle(SIGABRT, come_back, 0);
  abort_blocking(argument);
}
static void abort_left(const void *argument) {
  use_handle(SIGABRT, leave, 0);
  for (int round = 0; round < 3; round++)
    if (sigsetjmp(place, 1) == 0) abort_plainly(argument);
  use_say("left\n");
}
static void abort_left_and_blocking(const void *argument) {
  use_handle(SIGABRT, leave, 0);
  if (sigsetjmp(place, 1) == 0) abort_blocking(argument);
  use_say("left\n");
}
static void *abort_there(void *argument) {
  abort_blocking(argument);
  return NULL;
}
static void abort_on_thread(const void *argument) {
  (void)argument;
  pthread_t thread;
  pthread_create(&thread, NULL, abort_there, NULL);
  for (;;) pause();
}
static void abort_on_two(const void *argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, abort_there, NULL);
  abort_blocking(argument);
}

void functions_compare_ends(void) {
  int statuses[] = {0, 1, 77, 255, 256, -1, 0x12345};
  fflush(stdout);
  for (int function = 0; function < 2; function++)
    for (int index = 0; index < 7; index++) {
      struct ending ending = {function, statuses[index]};
      functions_in_child(function ? "_Exit" : "_exit", end, &ending);
      functions_in_child("on a thread", end_on_thread, &ending);
      functions_in_child("with all blocked", end_blocking_all, &ending);
      pid_t child = vfork();
      if (child == 0) (function ? functions.exit_too : functions.exit)(statuses[index]);
      use_await(child, "vfork");
    }
  functions_in_child("abort", abort_plainly, NULL);
  functions_in_child("abort with all blocked", abort_blocking, NULL);
  functions_in_child("abort ignored", abort_ignoring, NULL);
  functions_in_child("abort ignored and blocked", abort_ignoring_and_blocking, NULL);
  functions_in_child("abort with a handler", abort_noted, NULL);
  functions_in_child("abort with a handler, blocked", abort_noted_and_blocking, NULL);
  functions_in_child("abort left", abort_left, NULL);
  functions_in_child("abort left, blocked", abort_left_and_blocking, NULL);
  functions_in_child("abort on a thread", abort_on_thread, NULL);
  functions_in_child("abort on two threads", abort_on_two, NULL);
  pid_t child = vfork();
  if (child == 0) functions.abort();
  use_await(child, "abort in vfork");
}
