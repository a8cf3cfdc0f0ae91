// Compares pthread_create.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "functions.h"

static char *own_stack;
enum { own_size = 256 << 10 };

struct seen {
  int error, policy, detached, is_on_own;
  uint64_t mask;
  size_t size;
};
static struct seen seen;
static volatile int is_done;

static void *look(void *argument) {
  char here;
  pthread_attr_t attributes;
  struct sched_param parameters;
  seen.error = errno;
  seen.is_on_own = own_stack && &here >= own_stack && &here < own_stack + own_size;
  seen.mask = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &seen.mask, sizeof seen.mask);
  pthread_getschedparam(pthread_self(), &seen.policy, &parameters);
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getdetachstate(&attributes, &seen.detached);
    pthread_attr_getstacksize(&attributes, &seen.size);
    pthread_attr_destroy(&attributes);
  }
  __atomic_store_n(&is_done, 1, __ATOMIC_SEQ_CST);
  return argument;
}

static void compare(const char *name, const pthread_attr_t *attributes, int is_detached) {
  pthread_t thread;
  void *value = NULL;
  memset(&seen, 0, sizeof seen);
  __atomic_store_n(&is_done, 0, __ATOMIC_SEQ_CST);
  errno = 99;
  int result = functions.pthread_create(&thread, attributes, look, &own_stack);
  int error = errno;
  if (result == 0) {
    use_wait_for(&is_done, 1);
    if (!is_detached) pthread_join(thread, &value);
  }
  use_say("thread %s: %d %d, returned %d; errno %d, policy %d, detached %d, own stack %d, mask %016llx, size %zu\n",
          name, result, error, value == &own_stack, seen.error, seen.policy, seen.detached, seen.is_on_own,
          (unsigned long long)(seen.mask & ~USES_FAULTS), seen.size);
}

static void *leave(void *argument) {
  pthread_exit(argument);
  return NULL;
}
static void *wait_for_end(void *argument) {
  for (;;) pause();
  return argument;
}
static void *use_stack(void *argument) {
  // Most of the smallest stack that a program may ask for.
  volatile char bytes[4096];
  for (size_t index = 0; index < sizeof bytes; index++) bytes[index] = (char)index;
  return argument;
}

static void without_processes(const void *argument) {
  (void)argument;
  struct rlimit limit = {0, 0};
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(73);
  setrlimit(RLIMIT_NPROC, &limit);
  compare("limited", NULL, 0);
}
static void end_all(const void *argument) {
  (void)argument;
  pthread_t thread;
  functions.pthread_create(&thread, NULL, wait_for_end, NULL);
  exit(7);
}

void functions_compare_threads(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  void *value = NULL;
  sigset_t set = use_set(SIGUSR1, SIGABRT, 0), none = use_set(0);
  compare("plain", NULL, 0);
  pthread_attr_init(&attributes);
  compare("default", &attributes, 0);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  compare("detached", &attributes, 1);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_JOINABLE);
  pthread_attr_setsigmask_np(&attributes, &set);
  compare("mask", &attributes, 0);
  pthread_attr_setsigmask_np(&attributes, &none);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
  compare("no mask", &attributes, 0);
  pthread_attr_setsigmask_np(&attributes, NULL);
  compare("inherited mask", &attributes, 0);
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8);
  pthread_attr_setstacksize(&attributes, (size_t)1 << 46);
  compare("huge", &attributes, 0);
  own_stack = mmap(NULL, own_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_setstack(&attributes, own_stack, own_size);
  compare("own stack", &attributes, 0);
  pthread_attr_destroy(&attributes);
  pthread_attr_init(&attributes);
  struct sched_param parameters = {.sched_priority = 0};
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attributes, SCHED_BATCH);
  pthread_attr_setschedparam(&attributes, &parameters);
  compare("policy", &attributes, 0);
  pthread_attr_destroy(&attributes);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
  for (int round = 0; round < 3; round++) {
    int result = functions.pthread_create(&thread, &attributes, use_stack, &value);
    void *returned = NULL;
    if (result == 0) pthread_join(thread, &returned);
    use_say("smallest: %d %d\n", result, returned == &value);
  }
  pthread_attr_destroy(&attributes);
  int result = functions.pthread_create(&thread, NULL, leave, &value);
  pthread_join(thread, &value);
  use_say("pthread_exit: %d %d\n", result, value == &value);
  functions.pthread_create(&thread, NULL, wait_for_end, NULL);
  pthread_cancel(thread);
  pthread_join(thread, &value);
  use_say("cancelled: %d\n", value == PTHREAD_CANCELED);
  if (geteuid() == 0) functions_in_child("without processes", without_processes, NULL);
  functions_in_child("exit beside a thread", end_all, NULL);
}
