// The ends of threads and of the process.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static pthread_key_t key;
static void destroy(void *value) {
  use_say("destroys %ld, mask %016llx\n", (long)value, (unsigned long long)use_mask());
  // Sets the key again, as some destructors do.
  if ((long)value < 3) pthread_setspecific(key, (char *)value + 1);
}
static void clean_up(void *value) { use_say("cleans up %s\n", (const char *)value); }

static void *leave_early(void *argument) {
  use_block(SIGABRT, 0);
  pthread_setspecific(key, (void *)1);
  pthread_cleanup_push(clean_up, "first");
  pthread_cleanup_push(clean_up, "second");
  if (argument) pthread_exit((void *)7);
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(1);
  return (void *)8;
}
static void end_threads(void) {
  pthread_key_create(&key, destroy);
  for (long way = 0; way < 2; way++) {
    void *result = NULL;
    pthread_join(use_start(leave_early, (void *)way), &result);
    use_say("joined with %ld\n", (long)result);
  }
}

static sem_t is_there;
static void *wait_to_be_cancelled(void *argument) {
  pthread_cleanup_push(clean_up, "cancelled");
  sem_post(&is_there);
  if (argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile int spins = 0;; spins++) {
    }
  }
  for (;;) {
    struct timespec time = {10, 0};
    nanosleep(&time, NULL);
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static void *wait_blocking_all(void *argument) {
  use_block_all();
  return wait_to_be_cancelled(argument);
}
static void cancel_threads(void) {
  sem_init(&is_there, 0, 0);
  for (long way = 0; way < 4; way++) {
    pthread_t thread = use_start(way < 2 ? wait_to_be_cancelled : wait_blocking_all, (void *)(way % 2));
    sem_wait(&is_there);
    pthread_cancel(thread);
    void *result = NULL;
    pthread_join(thread, &result);
    use_say("cancelled: %d\n", result == PTHREAD_CANCELED);
  }
}

// The process goes on when its first thread ends.
static void *go_on_without_first(void *argument) {
  pthread_join(*(pthread_t *)argument, NULL);
  use_say("the first thread has ended\n");
  use_in_child("child", abort);
  exit(9);
}
static pthread_t first;
static void end_first(void) {
  first = pthread_self();
  use_start(go_on_without_first, &first);
  pthread_exit(NULL);
}
static void *be_terminated(void *argument) {
  pthread_join(*(pthread_t *)argument, NULL);
  use_say("sends\n");
  use_send(SIGTERM);
  for (;;) pause();
}
static void end_first_and_terminate(void) {
  first = pthread_self();
  use_start(be_terminated, &first);
  pthread_exit(NULL);
}
static void *fault_without_first(void *argument) {
  pthread_join(*(pthread_t *)argument, NULL);
  crash_null_call();
  return NULL;
}
static void end_first_and_fault(void) {
  first = pthread_self();
  use_start(fault_without_first, &first);
  pthread_exit(NULL);
}
// Every thread ends: the process ends with 0.
static void *say_and_end(void *argument) {
  pthread_join(*(pthread_t *)argument, NULL);
  use_say("ends last\n");
  return NULL;
}
static void end_all(void) {
  first = pthread_self();
  use_start(say_and_end, &first);
  pthread_exit(NULL);
}

static void at_exit(void) { use_say("at exit, mask %016llx\n", (unsigned long long)use_mask()); }
static void at_quick_exit_too(void) { use_say("at quick exit\n"); }
static void end_in_order(void) {
  atexit(at_exit);
  atexit(at_exit);
  use_block(SIGABRT, SIGUSR1, 0);
  exit(11);
}
static void *exit_there(void *argument) {
  exit(argument ? 12 : 13);
  return NULL;
}
static void exit_on_thread(void) {
  atexit(at_exit);
  pthread_join(use_start(exit_there, &first), NULL);
}
static void end_quickly(void) {
  atexit(at_exit);
  at_quick_exit(at_quick_exit_too);
  quick_exit(14);
}
static void end_at_once(void) {
  atexit(at_exit);
  _exit(15);
}
static void end_by_c99(void) {
  atexit(at_exit);
  _Exit(16 + 256);
}
static void abort_in_exit(void) {
  use_block(SIGABRT, 0);
  abort();
}
static void abort_at_exit(void) {
  atexit(abort_in_exit);
  exit(0);
}
static void end_by_kernel(void) { syscall(SYS_exit_group, 17); }

// -- Many threads -----------------------------------------------------------------------------------------------------

static volatile int made;
static void *make_more(void *argument) {
  long depth = (long)argument;
  __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
  if (depth == 0) return NULL;
  pthread_t threads[2];
  for (int index = 0; index < 2; index++) threads[index] = use_start(make_more, (void *)(depth - 1));
  for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
  return NULL;
}
static void make_many(void) {
  pthread_join(use_start(make_more, (void *)6), NULL);
  use_say("%d threads\n", made);
}
static int count_there(void *argument) {
  __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
  thrd_exit((int)(long)argument);
}
static void make_thrds(void) {
  int sum = 0;
  for (long index = 0; index < 20; index++) {
    thrd_t thread;
    int result = 0;
    if (thrd_create(&thread, count_there, (void *)index) != thrd_success) _exit(74);
    thrd_join(thread, &result);
    sum += result;
  }
  use_say("%d threads, sum %d\n", made, sum);
}
static void refuse_threads(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  use_say("tiny stack: %d\n", pthread_attr_setstacksize(&attributes, 1));
  pthread_attr_setstacksize(&attributes, (size_t)1 << 50);
  use_say("huge stack: %d\n", pthread_create(&thread, &attributes, say_and_end, NULL));
  pthread_attr_destroy(&attributes);
  use_in_child("child", make_thrds);
}

static void *see_errno(void *argument) {
  use_say("errno %d\n", errno);
  errno = 5;
  return argument;
}
static void keep_errno(void) {
  errno = 77;
  pthread_t thread = use_start(see_errno, NULL);
  int after = errno;
  pthread_join(thread, NULL);
  use_say("kept: %d\n", after == 77);
  sigset_t set = use_set(SIGABRT, 0);
  errno = 78;
  sigprocmask(SIG_BLOCK, &set, NULL);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  use_say("kept: %d\n", errno == 78);
  pthread_sigmask(77, &set, NULL);
  use_say("kept: %d\n", errno == 78);
}

// setuid and its relatives make libc signal every thread.
static void *sleep_on(void *argument) {
  for (;;) pause();
  return argument;
}
static void *sleep_blocking(void *argument) {
  use_block_all();
  for (;;) pause();
  return argument;
}
static void change_user(void) {
  for (int index = 0; index < 4; index++) use_start(index % 2 ? sleep_on : sleep_blocking, NULL);
  use_say("setgid %d\n", setgid(getgid()));
  use_say("setuid %d\n", setuid(getuid()));
}

const struct use uses_of_threads[] = {
    {"threads-ended", NULL, end_threads},
    {"threads-cancelled", NULL, cancel_threads},
    {"threads-first-ends", NULL, end_first},
    {"threads-first-ends-terminated", NULL, end_first_and_terminate},
    {"threads-first-ends-fault", NULL, end_first_and_fault},
    {"threads-all-end", NULL, end_all},
    {"threads-exit", NULL, end_in_order},
    {"threads-exit-there", NULL, exit_on_thread},
    {"threads-quick-exit", NULL, end_quickly},
    {"threads-at-once", NULL, end_at_once},
    {"threads-c99-exit", NULL, end_by_c99},
    {"threads-kernel-exit", NULL, end_by_kernel},
    {"threads-abort-at-exit", NULL, abort_at_exit},
    {"threads-many", NULL, make_many},
    {"threads-thrds", NULL, make_thrds},
    {"threads-refused", NULL, refuse_threads},
    {"threads-errno", NULL, keep_errno},
    {"threads-users", NULL, change_user},
    {NULL, NULL, NULL},
};
