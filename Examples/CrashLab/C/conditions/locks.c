// Locks that the crashing thread holds, and for which a handler must not wait.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"

static crashlab_body held_body;
static void *held_context;

// Frees many small blocks into the thread's own cache, which needs no lock. The body can then
// allocate a little, as the Swift runtime does for its messages; without that it would wait
// forever, even without a handler.
static void fill_cache(void) {
  enum { kinds = 64, blocks = 7 };
  void *volatile held[kinds][blocks];
  for (int kind = 0; kind < kinds; kind++)
    for (int block = 0; block < blocks; block++) held[kind][block] = malloc(16 * (size_t)kind + 16);
  for (int kind = 0; kind < kinds; kind++)
    for (int block = 0; block < blocks; block++) free(held[kind][block]);
}

static void heap_grows(int signal) {
  (void)signal;
  held_body(held_context);
}

static void *sleep_for_ever(void *argument) {
  for (;;) pause();
  return argument;
}

// malloc takes its lock only in a process that has had a second thread. Source: glibc
// malloc/malloc.c, SINGLE_THREAD_P.
void condition_prepare_malloc(void) {
  mallopt(M_ARENA_MAX, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0) abort();
}

void condition_trap_heap_growth(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
  fill_cache();
  // Leaves less memory than the Swift runtime requests at a time.
  while (mallinfo2().keepcost >= 20000) {
    void *volatile block = malloc(16000);
    if (block == NULL) return;
  }
  struct sigaction action = {.sa_handler = heap_grows, .sa_flags = SA_NODEFER};
  sigaction(SIGSYS, &action, NULL);
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return;
}

void condition_in_malloc(crashlab_body body, void *context) {
  condition_trap_heap_growth(body, context);
  // The blocks are too small for separate mappings, so they use up the heap.
  for (int turn = 0; turn < 1000; turn++) {
    void *volatile block = malloc(60000);
    (void)block;
  }
}

static int in_iteration(struct dl_phdr_info *information, size_t size, void *context) {
  (void)information;
  (void)size;
  (void)context;
  held_body(held_context);
  return 1;
}

// The callback runs under _dl_load_write_lock. Source: glibc elf/dl-iteratephdr.c.
void condition_holding_loader_lock(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
  dl_iterate_phdr(in_iteration, NULL);
}

void condition_holding_stdio_lock(crashlab_body body, void *context) {
  flockfile(stdout);
  flockfile(stderr);
  body(context);
  funlockfile(stderr);
  funlockfile(stdout);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_mutex(void *argument) {
  (void)argument;
  pthread_mutex_lock(&mutex);
  return NULL;
}

void condition_holding_mutex(crashlab_body body, void *context) {
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_mutex, NULL) != 0) abort();
  body(context);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
}
