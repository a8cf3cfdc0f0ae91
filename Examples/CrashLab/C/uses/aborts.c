// SIGABRT: aborts in threads that block it, and SIGABRT that is sent.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static void take_pending(const char *name, pid_t sender) {
  siginfo_t information = {0};
  sigset_t set = use_set(SIGABRT, SIGUSR1, 0);
  struct timespec time = {0, 0};
  int taken = sigtimedwait(&set, &information, &time);
  use_say("%s: took %d code %d value %d from %s\n", name, taken, information.si_code,
          information.si_value.sival_int,
          taken < 0                               ? "nobody"
          : information.si_pid == sender          ? "the sender"
          : information.si_pid == getpid()        ? "itself"
                                                  : "another");
}

static void stay_pending(void) {
  use_block_all();
  raise(SIGABRT);
  use_tell("raise");
  take_pending("raise", 0);
  pthread_kill(pthread_self(), SIGABRT);
  kill(getpid(), SIGUSR1);
  use_tell("two");
  take_pending("first", 0);
  take_pending("second", 0);
  pid_t sender = use_send(SIGABRT);
  use_tell("sent");
  take_pending("sent", sender);
  sender = use_queue(SIGABRT);
  use_tell("queued");
  take_pending("queued", sender);
  take_pending("nothing", 0);
}

static void block_and_abort(void) {
  use_block(SIGABRT, 0);
  use_say("aborts\n");
  abort();
}
static void fill_and_abort(void) {
  use_block_all();
  abort();
}
static void fill_and_damage(void) {
  use_block_all();
  crash_double_free();
}
static void damage(void) { crash_double_free(); }

static void *abort_there(void *argument) {
  abort();
  return argument;
}
static int abort_in_thrd(void *argument) {
  abort();
  return argument == NULL;
}
static void abort_on_thread(void) {
  use_block_all();
  pthread_join(use_start(abort_there, NULL), NULL);
}
static void abort_on_thrd(void) {
  thrd_t thread;
  use_block_all();
  thrd_create(&thread, abort_in_thrd, NULL);
  thrd_join(thread, NULL);
}

// A thread of thrd_create that blocks SIGABRT outlives one that is sent.
static volatile int is_ready;
static int be_sent(void *argument) {
  (void)argument;
  sigset_t set = use_set(SIGABRT, 0);
  __atomic_store_n(&is_ready, 1, __ATOMIC_SEQ_CST);
  int taken = 0;
  use_wait_for(&is_ready, 2);
  sigwait(&set, &taken);
  use_say("thread took %d\n", taken);
  return 0;
}
static void send_to_thrd(void) {
  thrd_t thread;
  use_block_all();
  thrd_create(&thread, be_sent, NULL);
  use_wait_for(&is_ready, 1);
  use_send(SIGABRT);
  use_tell("sent");
  __atomic_store_n(&is_ready, 2, __ATOMIC_SEQ_CST);
  thrd_join(thread, NULL);
}

// The kernel adds sa_mask to the thread's mask without calling any function of libc.
static void abort_here(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  abort();
}
static void abort_in_handler(void) {
  struct sigaction action = {.sa_sigaction = abort_here, .sa_flags = SA_SIGINFO};
  sigaddset(&action.sa_mask, SIGABRT);
  sigaction(SIGUSR1, &action, NULL);
  use_say("raises\n");
  raise(SIGUSR1);
}

static void abort_past_libc(void) {
  uint64_t signal = 1ull << (SIGABRT - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal, NULL, sizeof signal);
  use_tell("blocked past libc");
  abort();
}

static sigjmp_buf place;
static void note(int signal, siginfo_t *information, void *context) {
  (void)context;
  use_say("handler of %d, code %d, mask %016llx\n", signal, information->si_code, (unsigned long long)use_mask());
}
static void leave(int signal, siginfo_t *information, void *context) {
  note(signal, information, context);
  siglongjmp(place, 1);
}
static void prepare_note(void) { use_handle(SIGABRT, note, 0); }
static void prepare_leave(void) { use_handle(SIGABRT, leave, 0); }

static void leave_aborts(void) {
  for (int round = 0; round < 3; round++) {
    if (sigsetjmp(place, 1) == 0) abort();
    use_tell("left");
  }
}
// glibc 2.41 and newer run no handler here.
static void leave_blocked_abort(void) {
  use_block(SIGABRT, 0);
  if (sigsetjmp(place, 1) == 0) abort();
  use_tell("left");
}
static void return_from_abort(void) {
  use_block(SIGABRT, 0);
  abort();
}
static void install_and_leave(void) {
  prepare_leave();
  leave_blocked_abort();
}
static void ignore_and_abort(void) {
  signal(SIGABRT, SIG_IGN);
  use_block(SIGABRT, 0);
  abort();
}
static void prepare_ignored(void) { signal(SIGABRT, SIG_IGN); }

static void handle_later(void) {
  prepare_note();
  use_block(SIGABRT, SIGUSR1, 0);
  use_send(SIGABRT);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, SIGUSR1, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  use_tell("after it");
}
static void handle_after_blocking(void) {
  use_block(SIGABRT, SIGUSR1, 0);
  prepare_note();
  use_send(SIGABRT);
  raise(SIGABRT);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  use_tell("after it");
}
static void handle_before(void) {
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  use_tell("after it");
}
static void ignore_later(void) {
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  signal(SIGABRT, SIG_IGN);
  use_tell("ignored");
  signal(SIGABRT, SIG_DFL);
  use_send(SIGABRT);
  use_tell("default");
}

static void unblock_and_end(void) {
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  use_say("came back\n");
}
static void send_to_open(void) {
  use_say("sends\n");
  use_send(SIGABRT);
  use_say("came back\n");
}

static void *take_it(void *ready) {
  sigset_t set = use_set(SIGABRT, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  pthread_barrier_wait(ready);
  for (;;) pause();
  return NULL;
}
static void leave_to_another(void) {
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 2);
  use_block(SIGABRT, 0);
  use_start(take_it, &ready);
  pthread_barrier_wait(&ready);
  use_tell("main");
  use_send(SIGABRT);
  for (;;) pause();
}

// A signal for one thread stays that thread's.
static void *wait_alone(void *ready) {
  sigset_t set = use_set(SIGABRT, 0);
  int taken = 0;
  pthread_barrier_wait(ready);
  pthread_barrier_wait(ready);
  use_tell("thread");
  sigwait(&set, &taken);
  use_say("thread took %d\n", taken);
  return NULL;
}
static void send_to_one(void) {
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 2);
  use_block(SIGABRT, 0);
  pthread_t thread = use_start(wait_alone, &ready);
  pthread_barrier_wait(&ready);
  pthread_kill(thread, SIGABRT);
  use_tell("main");
  pthread_barrier_wait(&ready);
  pthread_join(thread, NULL);
}

static void abort_in_children(void) {
  use_in_child("child", abort);
  use_in_child("child that blocks", block_and_abort);
  pid_t child = vfork();
  if (child == 0) abort();
  use_await(child, "vfork");
}

static void abort_after_fork_in_thread_of(void) {
  use_block_all();
  use_in_child("child of all", abort);
}

const struct use uses_of_aborts[] = {
    {"aborts-pending", NULL, stay_pending},
    {"aborts-blocked", NULL, block_and_abort},
    {"aborts-all-blocked", NULL, fill_and_abort},
    {"aborts-heap-blocked", NULL, fill_and_damage},
    {"aborts-heap", NULL, damage},
    {"aborts-thread", NULL, abort_on_thread},
    {"aborts-thrd", NULL, abort_on_thrd},
    {"aborts-sent-to-thrd", NULL, send_to_thrd},
    {"aborts-in-handler", NULL, abort_in_handler},
    {"aborts-past-libc", NULL, abort_past_libc},
    {"aborts-left", prepare_leave, leave_aborts},
    {"aborts-left-blocked", prepare_leave, leave_blocked_abort},
    {"aborts-left-later", NULL, install_and_leave},
    {"aborts-noted-blocked", prepare_note, return_from_abort},
    {"aborts-ignored", NULL, ignore_and_abort},
    {"aborts-ignored-before", prepare_ignored, block_and_abort},
    {"aborts-handler-later", NULL, handle_later},
    {"aborts-handler-after-blocking", NULL, handle_after_blocking},
    {"aborts-handler-before", prepare_note, handle_before},
    {"aborts-ignored-later", NULL, ignore_later},
    {"aborts-unblocked", NULL, unblock_and_end},
    {"aborts-sent", NULL, send_to_open},
    {"aborts-other-thread", NULL, leave_to_another},
    {"aborts-one-thread", NULL, send_to_one},
    {"aborts-children", NULL, abort_in_children},
    {"aborts-child-of-all", NULL, abort_after_fork_in_thread_of},
    {NULL, NULL, NULL},
};
