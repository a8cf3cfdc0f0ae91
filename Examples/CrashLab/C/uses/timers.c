// Timers, alarms and profilers.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static volatile int ticks;
static volatile int on_others;
static pthread_t main_thread;
static void tick(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  if (!pthread_equal(pthread_self(), main_thread)) on_others = 1;
  __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

static void set_timer(int which, int microseconds) {
  struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  if (setitimer(which, &timer, NULL) != 0) _exit(81);
}

static void work_until(int count) {
  while (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < count) {
  }
}

static void count(int which, int signal) {
  struct sigaction action;
  ticks = 0;
  main_thread = pthread_self();
  use_handle(signal, tick, SA_RESTART);
  set_timer(which, 1000);
  work_until(5);
  set_timer(which, 0);
  sigaction(signal, NULL, &action);
  use_say("timer %d: %d, the handler is its own: %d\n", which, ticks >= 5, action.sa_sigaction == tick);
}
static void count_each(void) {
  count(ITIMER_REAL, SIGALRM);
  count(ITIMER_VIRTUAL, SIGVTALRM);
  count(ITIMER_PROF, SIGPROF);
}
// A profiler that runs while the handler starts.
static void before_profile(void) {
  main_thread = pthread_self();
  use_handle(SIGPROF, tick, SA_RESTART);
  set_timer(ITIMER_PROF, 1000);
}
static void *spin(void *argument) {
  work_until(30);
  return argument;
}
static void go_on_profiling(void) {
  pthread_t threads[4];
  for (int index = 0; index < 4; index++) threads[index] = use_start(spin, NULL);
  for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
  set_timer(ITIMER_PROF, 0);
  struct sigaction action;
  sigaction(SIGPROF, NULL, &action);
  use_say("profiled, the handler is its own: %d\n", action.sa_sigaction == tick);
}

// A profiler that is libc's own.
static unsigned short histogram[1 << 16];
extern int profil(unsigned short *, size_t, size_t, unsigned int);
static void use_profil(void) {
  struct timespec start, now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  if (profil(histogram, sizeof histogram, 0, 65536) != 0) _exit(82);
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 50);
  use_say("profil: %d\n", profil(histogram, 0, 0, 0));
  struct sigaction action;
  sigaction(SIGPROF, NULL, &action);
  use_say("default again: %d\n", action.sa_handler == SIG_DFL);
}

static void end_by_profiling_timer(void) {
  set_timer(ITIMER_PROF, 1000);
  for (;;) {
  }
}
static void end_by_virtual_timer(void) {
  set_timer(ITIMER_VIRTUAL, 1000);
  for (;;) {
  }
}
static void end_by_alarm(void) {
  set_timer(ITIMER_REAL, 1000);
  for (;;) pause();
}

// -- POSIX timers ---------------------------------------------------------------------------------------------------

static timer_t made_timer(struct sigevent event) {
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) _exit(83);
  struct itimerspec time = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &time, NULL);
  return timer;
}

static char mark[1];
static volatile int wrong;
static void check_value(int signal, siginfo_t *information, void *context) {
  if (information->si_code != SI_TIMER || information->si_value.sival_ptr != mark) wrong = 1;
  tick(signal, information, context);
}
static void time_by_signals(void) {
  int signals[] = {SIGRTMIN, SIGRTMAX, SIGUSR1, SIGABRT, SIGPROF};
  main_thread = pthread_self();
  for (int index = 0; index < 5; index++) {
    ticks = 0;
    use_handle(signals[index], check_value, SA_RESTART);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[index]};
    event.sigev_value.sival_ptr = mark;
    timer_t timer = made_timer(event);
    work_until(5);
    timer_delete(timer);
    use_say("timer by %d, wrong: %d\n", signals[index], wrong);
  }
}
static void wait_for_timer(void) {
  use_block(SIGABRT, SIGRTMIN + 5, 0);
  int signals[] = {SIGABRT, SIGRTMIN + 5};
  for (int index = 0; index < 2; index++) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[index]};
    event.sigev_value.sival_ptr = mark;
    timer_t timer = made_timer(event);
    for (int round = 0; round < 3; round++) {
      sigset_t set = use_set(signals[index], 0);
      siginfo_t information = {0};
      int taken = sigwaitinfo(&set, &information);
      use_say("took %d code %d, own value: %d\n", taken, information.si_code,
              information.si_value.sival_ptr == mark);
    }
    timer_delete(timer);
  }
}

static volatile int runs;
static volatile uint64_t mask_there;
static void run_on_thread(union sigval value) {
  if (value.sival_ptr != mark) wrong = 1;
  mask_there = use_mask();
  __atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST);
}
static void time_by_threads(void) {
  use_block(SIGABRT, 0);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = run_on_thread};
  event.sigev_value.sival_ptr = mark;
  timer_t timer = made_timer(event);
  use_wait_for(&runs, 5);
  timer_delete(timer);
  use_say("by threads: %d, wrong: %d, mask %016llx\n", runs >= 5, wrong, (unsigned long long)mask_there);
}
static void crash_on_thread(union sigval value) {
  (void)value;
  sigset_t none = use_set(0);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  crash_null_call();
}
static void crash_by_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = crash_on_thread};
  made_timer(event);
  for (;;) pause();
}
static void abort_on_timer_thread(union sigval value) {
  (void)value;
  abort();
}
static void abort_by_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = abort_on_timer_thread};
  made_timer(event);
  for (;;) pause();
}

// A timer for one thread.
static void *be_timed(void *argument) {
  main_thread = pthread_self();
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  timer_t timer = made_timer(event);
  work_until(5);
  timer_delete(timer);
  return argument;
}
static void time_one_thread(void) {
  use_handle(SIGUSR2, tick, SA_RESTART);
  pthread_join(use_start(be_timed, NULL), NULL);
  use_say("on others: %d\n", on_others);
}

static void read_timers(void) {
  int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  struct itimerspec time = {{0, 1000000}, {0, 1000000}};
  timerfd_settime(file, 0, &time, NULL);
  uint64_t total = 0;
  while (total < 5) {
    uint64_t passed = 0;
    if (read(file, &passed, sizeof passed) != sizeof passed) _exit(84);
    total += passed;
  }
  use_say("timerfd\n");
}

// The time that is left of an alarm survives what the handler does.
static void keep_alarm(void) {
  alarm(1000);
  sleep(0);
  unsigned left = alarm(0);
  use_say("left: %d\n", left >= 990 && left <= 1000);
}

const struct use uses_of_timers[] = {
    {"timers-each", NULL, count_each},
    {"timers-profiler", before_profile, go_on_profiling},
    {"timers-profil", NULL, use_profil},
    {"timers-end-profiling", NULL, end_by_profiling_timer},
    {"timers-end-virtual", NULL, end_by_virtual_timer},
    {"timers-end-alarm", NULL, end_by_alarm},
    {"timers-signals", NULL, time_by_signals},
    {"timers-waited-for", NULL, wait_for_timer},
    {"timers-threads", NULL, time_by_threads},
    {"timers-thread-fault", NULL, crash_by_timer},
    {"timers-thread-abort", NULL, abort_by_timer},
    {"timers-one-thread", NULL, time_one_thread},
    {"timers-descriptor", NULL, read_timers},
    {"timers-alarm-kept", NULL, keep_alarm},
    {NULL, NULL, NULL},
};
