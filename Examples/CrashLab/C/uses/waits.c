// sigwait, signalfd and pending signals.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static void *wait_for_one(void *argument) {
  sigset_t set = use_set(SIGABRT, SIGUSR1, 0);
  siginfo_t information = {0};
  int taken = sigwaitinfo(&set, &information);
  use_say("sigwaitinfo: %d code %d value %d\n", taken, information.si_code, information.si_value.sival_int);
  return argument;
}
static void *sleep_on(void *argument) {
  for (;;) pause();
  return argument;
}

static void wait_among_threads(void) {
  use_block_all();
  for (int index = 0; index < 4; index++) use_start(sleep_on, NULL);
  for (int round = 0; round < 3; round++) {
    pthread_t waiter = use_start(wait_for_one, NULL);
    if (round == 1) {
      use_queue(SIGABRT);
    } else {
      use_send(SIGABRT);
    }
    pthread_join(waiter, NULL);
  }
}

// A server's thread of signals: every signal is blocked, and one thread waits for all.
static void *serve_signals(void *argument) {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGCHLD);
  int taken = 0;
  do {
    if (sigwait(&all, &taken) != 0) _exit(78);
    use_say("took %d\n", taken);
    sem_post(argument);
  } while (taken != SIGTERM);
  return NULL;
}
static void wait_for_all(void) {
  sem_t is_taken;
  int signals[] = {SIGABRT, SIGHUP, SIGABRT, SIGQUIT, SIGPROF, SIGXCPU, SIGXFSZ, SIGPIPE, SIGALRM,
                   SIGRTMIN, SIGRTMAX, SIGRTMAX - 1, SIGRTMAX - 2, SIGABRT, SIGTERM};
  sem_init(&is_taken, 0, 0);
  use_block_all();
  for (int index = 0; index < 3; index++) use_start(sleep_on, NULL);
  pthread_t server = use_start(serve_signals, &is_taken);
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
    use_send(signals[index]);
    sem_wait(&is_taken);
  }
  pthread_join(server, NULL);
}

// Blocked real-time signals are queued in order, with their values.
static void take_in_order(void) {
  sigset_t all;
  sigfillset(&all);
  use_block_all();
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
    for (int round = 0; round < 2; round++)
      if (sigqueue(getpid(), signal, (union sigval){.sival_int = round}) != 0) _exit(79);
  for (;;) {
    siginfo_t information = {0};
    struct timespec time = {0, 0};
    int taken = sigtimedwait(&all, &information, &time);
    if (taken < 0) break;
    use_say("%d %d, ", taken, information.si_value.sival_int);
  }
  use_say("end %d\n", errno);
}

// -- signalfd ---------------------------------------------------------------------------------------------------------

static void read_from(int file, int signal, pid_t sender) {
  struct signalfd_siginfo information = {0};
  ssize_t size;
  // A descriptor that was ready may have nothing to read: another thread can take a signal first. Source: select(2), BUGS.
  do {
    struct pollfd entry = {file, POLLIN, 0};
    while (poll(&entry, 1, 20000) == -1 && errno == EINTR) {
    }
    size = read(file, &information, sizeof information);
  } while (size == -1 && errno == EAGAIN);
  use_say("signalfd: %d code %d%s%s\n", (int)information.ssi_signo, information.ssi_code,
          size != sizeof information ? " incomplete" : "",
          (int)information.ssi_signo == signal && information.ssi_pid == (uint32_t)sender ? " of the sender" : "");
}

static int made_descriptor(sigset_t set) {
  int file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file < 0) _exit(80);
  return file;
}

static void read_descriptor(void) {
  use_block(SIGABRT, SIGTERM, 0);
  int file = made_descriptor(use_set(SIGABRT, SIGTERM, 0));
  for (int round = 0; round < 3; round++) {
    pid_t sender = use_send(round == 1 ? SIGTERM : SIGABRT);
    read_from(file, round == 1 ? SIGTERM : SIGABRT, sender);
  }
  use_tell("read");
}

static int sleep_in_thrd(void *argument) {
  for (;;) pause();
  return argument == NULL;
}
// Threads that block every signal, made before and after the descriptor.
static void read_among_threads(void) {
  thrd_t thread;
  use_block_all();
  for (int index = 0; index < 3; index++) use_start(sleep_on, NULL);
  thrd_create(&thread, sleep_in_thrd, NULL);
  int file = made_descriptor(use_set(SIGABRT, SIGHUP, 0));
  read_from(file, SIGABRT, use_send(SIGABRT));
  for (int index = 0; index < 3; index++) use_start(sleep_on, NULL);
  thrd_create(&thread, sleep_in_thrd, NULL);
  for (int round = 0; round < 3; round++) read_from(file, SIGABRT, use_queue(SIGABRT));
}
static volatile int is_asleep;
static void *wait_and_sleep(void *argument) {
  // A worker of libdispatch asks for this mask.
  sigset_t set;
  sigfillset(&set);
  int open[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF};
  for (int index = 0; index < 8; index++) sigdelset(&set, open[index]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  __atomic_add_fetch(&is_asleep, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
  return argument;
}
static void read_among_workers(void) {
  for (int index = 0; index < 3; index++) use_start(wait_and_sleep, NULL);
  use_wait_for(&is_asleep, 3);
  use_block(SIGABRT, 0);
  int file = made_descriptor(use_set(SIGABRT, 0));
  for (int round = 0; round < 2; round++) read_from(file, SIGABRT, use_send(SIGABRT));
  for (int index = 0; index < 3; index++) use_start(wait_and_sleep, NULL);
  use_wait_for(&is_asleep, 6);
  for (int round = 0; round < 4; round++) read_from(file, SIGABRT, use_send(SIGABRT));
  use_tell("read");
}
static void wait_among_workers(void) {
  sigset_t set = use_set(SIGABRT, 0);
  use_block(SIGABRT, 0);
  for (int index = 0; index < 3; index++) use_start(wait_and_sleep, NULL);
  use_wait_for(&is_asleep, 3);
  for (int round = 0; round < 3; round++) {
    use_send(SIGABRT);
    use_tell("sent");
    int taken = 0;
    sigwait(&set, &taken);
    use_say("took %d\n", taken);
  }
}
// One thread at a time opens what it waits for.
static void *raise_on_worker(void *argument) {
  sigset_t set;
  sigfillset(&set);
  int open[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF};
  for (int index = 0; index < 8; index++) sigdelset(&set, open[index]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  raise(SIGABRT);
  use_say("raised\n");
  pthread_kill(pthread_self(), SIGABRT);
  sigset_t one = use_set(SIGABRT, 0);
  int taken = 0;
  sigwait(&one, &taken);
  use_say("took %d\n", taken);
  return argument;
}
static void raise_on_workers(void) {
  for (int round = 0; round < 3; round++) pthread_join(use_start(raise_on_worker, NULL), NULL);
}
// A worker that opens SIGABRT dies of it.
static void *open_on_worker(void *argument) {
  sigset_t set, one = use_set(SIGABRT, 0);
  sigfillset(&set);
  int open[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF};
  for (int index = 0; index < 8; index++) sigdelset(&set, open[index]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  use_say("raises\n");
  raise(SIGABRT);
  use_say("came back\n");
  return argument;
}
static void open_on_workers(void) { pthread_join(use_start(open_on_worker, NULL), NULL); }

// Every signal that can be blocked, by an event loop.
static void read_all_by_loop(void) {
  sigset_t all;
  int signals[] = {SIGABRT, SIGHUP, SIGUSR1, SIGQUIT, SIGPROF, SIGXFSZ, SIGRTMIN + 1, SIGRTMAX, SIGABRT};
  use_block_all();
  sigfillset(&all);
  sigdelset(&all, SIGCHLD);
  int file = made_descriptor(all), loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
  epoll_ctl(loop, EPOLL_CTL_ADD, file, &event);
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
    pid_t sender = use_send(signals[index]);
    struct epoll_event found;
    while (epoll_wait(loop, &found, 1, 20000) == -1 && errno == EINTR) {
    }
    read_from(found.data.fd, signals[index], sender);
  }
}

static void read_child(void) {
  use_block(SIGCHLD, 0);
  int file = made_descriptor(use_set(SIGCHLD, 0));
  pid_t child = fork();
  if (child == 0) _exit(3);
  read_from(file, SIGCHLD, child);
  use_await(child, "child");
}

// The process's timer of processor time is read, never delivered.
static void read_profiling_timer(void) {
  use_block(SIGPROF, 0);
  int file = made_descriptor(use_set(SIGPROF, 0));
  struct itimerval timer = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &timer, NULL);
  for (int round = 0; round < 5; round++) {
    struct signalfd_siginfo information = {0};
    while (read(file, &information, sizeof information) != sizeof information) {
    }
    use_say("signalfd: %d\n", (int)information.ssi_signo);
  }
  setitimer(ITIMER_PROF, &none, NULL);
}

static void abort_after_descriptor(void) {
  read_descriptor();
  raise(SIGABRT);
  use_tell("raised");
  use_block(SIGABRT, 0);
  crash_double_free();
}

const struct use uses_of_waits[] = {
    {"waits-among-threads", NULL, wait_among_threads},
    {"waits-for-all", NULL, wait_for_all},
    {"waits-in-order", NULL, take_in_order},
    {"waits-signalfd", NULL, read_descriptor},
    {"waits-signalfd-threads", NULL, read_among_threads},
    {"waits-signalfd-workers", NULL, read_among_workers},
    {"waits-among-workers", NULL, wait_among_workers},
    {"waits-raise-on-worker", NULL, raise_on_workers},
    {"waits-open-on-worker", NULL, open_on_workers},
    {"waits-signalfd-loop", NULL, read_all_by_loop},
    {"waits-signalfd-child", NULL, read_child},
    {"waits-signalfd-profiling", NULL, read_profiling_timer},
    {"waits-signalfd-heap", NULL, abort_after_descriptor},
    {NULL, NULL, NULL},
};
