// Moments at which a crash finds the process half initialized or half torn down.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"

static crashlab_body held_body;
static void *held_context;

static void run_held_body(void) {
  held_body(held_context);
  __asm__ volatile("");
}

static void hold(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
}

void condition_in_atexit(crashlab_body body, void *context) {
  hold(body, context);
  atexit(run_held_body);
  exit(0);
}

static void on_signal(int signal) {
  (void)signal;
  run_held_body();
}

void condition_in_signal_handler(crashlab_body body, void *context) {
  hold(body, context);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  // Workers of libdispatch block the signal.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  pthread_kill(pthread_self(), SIGUSR1);
}

static void *start(void *argument) {
  (void)argument;
  run_held_body();
  return NULL;
}

void condition_in_thread_start(crashlab_body body, void *context) {
  hold(body, context);
  pthread_t thread;
  if (pthread_create(&thread, NULL, start, NULL) == 0) pthread_join(thread, NULL);
}

static pthread_key_t key;

static void destroy(void *value) {
  (void)value;
  run_held_body();
}

static void *use_key(void *argument) {
  (void)argument;
  pthread_setspecific(key, &key);
  return NULL;
}

void condition_in_thread_end(crashlab_body body, void *context) {
  hold(body, context);
  pthread_t thread;
  if (pthread_key_create(&key, destroy) != 0) return;
  if (pthread_create(&thread, NULL, use_key, NULL) == 0) pthread_join(thread, NULL);
}

void condition_in_constructor(crashlab_body body, void *context) {
  hold(body, context);
  const char *path = getenv("CRASHLAB_MODULE");
  char address[32];
  snprintf(address, sizeof address, "%p", (void *)run_held_body);
  setenv("CRASHLAB_CONSTRUCTOR", address, 1);
  if (path == NULL || dlopen(path, RTLD_NOW) == NULL) fprintf(stderr, "crash-lab: %s\n", dlerror());
}

// The module is not linked yet and cannot refer to symbols, so it reads the function's address from
// a fixed address.
void condition_in_resolver(crashlab_body body, void *context) {
  hold(body, context);
  void (**hook)(void) = mmap((void *)0x2000000000, sizeof *hook, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (hook == MAP_FAILED) exit(70);
  *hook = run_held_body;
  const char *path = getenv("CRASHLAB_RESOLVER_MODULE");
  if (path == NULL || dlopen(path, RTLD_NOW) == NULL) fprintf(stderr, "crash-lab: %s\n", dlerror());
}

void condition_trap_syncs(crashlab_body body, void *context) {
  hold(body, context);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
  sigaction(SIGSYS, &action, NULL);
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return;
}
