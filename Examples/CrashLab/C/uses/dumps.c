// Dumps of a living process, and what they leave of its signals.
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static void (*dump)(bool);
void crashlab_set_dump(void (*function)(bool)) { dump = function; }

// Takes a dump, if there is a handler.
static void take_dump(bool stops_threads) {
  if (dump) dump(stops_threads);
}
static void take_both(void) {
  take_dump(false);
  take_dump(true);
}

static void *sleep_on(void *argument) {
  for (;;) pause();
  return argument;
}

// -- Signals that are pending -----------------------------------------------------------------------------------------

static void read_profiling(int file) {
  struct signalfd_siginfo information;
  ssize_t size = read(file, &information, sizeof information);
  use_say("read: %d\n", size == sizeof information ? (int)information.ssi_signo : -errno);
}
static int profiling_file(void) {
  sigset_t set = use_set(SIGPROF, 0);
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}
static void block_profiling(void) { use_block(SIGPROF, 0); }
static void dump_with_pending_profiling(void) {
  int file = profiling_file();
  for (int round = 0; round < 4; round++) {
    use_send(SIGPROF);
    take_dump(round % 2 == 1);
    read_profiling(file);
    read_profiling(file);
  }
}
static void start_profiling(void) {
  struct itimerval interval = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &interval, NULL);
}
static void spin_for_ticks(int file) {
  struct signalfd_siginfo information;
  for (int ticks = 0; ticks < 5;)
    if (read(file, &information, sizeof information) == sizeof information) ticks++;
}
static void dump_while_profiling(void) {
  int file = profiling_file();
  start_profiling();
  for (int round = 0; round < 10; round++) {
    spin_for_ticks(file);
    take_dump(round % 2 == 1);
  }
  spin_for_ticks(file);
  use_say("profiled\n");
}

static sem_t is_asked;
static void *take_profiling(void *argument) {
  use_block(SIGPROF, 0);
  sem_post(argument);
  while (sem_wait(&is_asked) != 0) {
  }
  sigset_t set = use_set(SIGPROF, 0);
  struct timespec time = {0, 0};
  use_say("took %d\n", sigtimedwait(&set, NULL, &time));
  return argument;
}
// The signal is pending for a thread that blocks it, and another thread does not block it.
static void dump_with_threads_profiling(void) {
  sem_t is_ready;
  sem_init(&is_ready, 0, 0);
  sem_init(&is_asked, 0, 0);
  use_start(sleep_on, NULL);
  for (int round = 0; round < 15; round++) {
    pthread_t thread = use_start(take_profiling, &is_ready);
    while (sem_wait(&is_ready) != 0) {
    }
    pthread_kill(thread, SIGPROF);
    take_dump(true);
    sem_post(&is_asked);
    pthread_join(thread, NULL);
  }
}
// Each signal that the program can block, except those of faults.
static void dump_with_all_pending(void) {
  use_block_all();
  for (int signal = 1; signal <= 64; signal++) {
    if (signal == SIGKILL || signal == SIGSTOP || signal == 32 || signal == 33) continue;
    if (!(USES_FAULTS >> (signal - 1) & 1)) use_send(signal);
  }
  use_tell("before");
  take_both();
  use_tell("after");
}

// -- Signals that the program takes -----------------------------------------------------------------------------------

static void note(int signal, siginfo_t *information, void *context) {
  (void)information;
  (void)context;
  use_say("ran for %d\n", signal);
}
static void repair(int signal, siginfo_t *information, void *context) {
  (void)signal;
  (void)context;
  use_unlock_page(information->si_addr);
}
static void before_repair(void) { use_handle(SIGSEGV, repair, 0); }

static void *block_profiling_and_sleep(void *argument) {
  use_block(SIGPROF, 0);
  return sleep_on(argument);
}
static void *spin_on(void *argument) {
  for (volatile int spins = 0;; spins++) {
  }
  return argument;
}
static void start_threads(void) {
  use_start(sleep_on, NULL);
  use_start(block_profiling_and_sleep, NULL);
  use_start(spin_on, NULL);
}
static void take_all(void (*handler)(int)) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) signal(number, handler);
  start_threads();
}
static void handle_all(void) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) use_handle(number, note, SA_RESTART);
  start_threads();
}
static void dump_thrice(void) {
  for (int round = 0; round < 3; round++) take_both();
  use_tell("dumped");
}
static void survive(void) {
  for (int round = 0; round < 3; round++) *use_locked_page() = 1;
}

static void dump_default(void) {
  take_all(SIG_DFL);
  dump_thrice();
}
static void dump_ignored(void) {
  take_all(SIG_IGN);
  dump_thrice();
}
static void dump_handled(void) {
  handle_all();
  dump_thrice();
}
static void crash_default(void) {
  take_all(SIG_DFL);
  *use_locked_page() = 1;
}
static void crash_ignored(void) {
  take_all(SIG_IGN);
  *use_locked_page() = 1;
}
static void crash_handled(void) {
  handle_all();
  *use_locked_page() = 1;
}
static void survive_default(void) {
  take_all(SIG_DFL);
  survive();
}
static void survive_handled(void) {
  handle_all();
  survive();
}

// -- Profilers --------------------------------------------------------------------------------------------------------

static volatile int ticks;
static void tick(int signal, siginfo_t *information, void *context) {
  (void)signal;
  (void)information;
  (void)context;
  __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}
static void tell_action(void) {
  struct sigaction action;
  sigaction(SIGPROF, NULL, &action);
  use_say("SIGPROF: %d %d\n", action.sa_sigaction == tick, action.sa_handler == SIG_DFL);
}
static void dump_with_profiler(void) {
  use_handle(SIGPROF, tick, SA_RESTART);
  start_threads();
  start_profiling();
  for (int round = 0; round < 5; round++) {
    take_both();
    tell_action();
    int before = ticks;
    while (ticks < before + 3) {
    }
  }
  use_say("profiled\n");
}
static void dump_and_end_by_profiling(void) {
  start_threads();
  take_both();
  tell_action();
  start_profiling();
  spin_on(NULL);
}

// -- The limit on file sizes ------------------------------------------------------------------------------------------

// Standard output may be a file, so the scenes write nothing while the limit is 0.
static void limit_files(rlim_t soft, bool is_hard) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = soft;
  if (is_hard) limit.rlim_max = soft;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(86);
}
static void unlimit_files(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
}
static void handle_limit(void) { use_handle(SIGXFSZ, note, 0); }

static void dump_within(rlim_t size, bool is_hard) {
  start_threads();
  limit_files(size, is_hard);
  take_both();
  use_tell("dumped");
}
static void dump_below_limit(void) { dump_within(4096, false); }
static void dump_below_hard_limit(void) { dump_within(4096, true); }
// More than most dumps, and less than the blocks that are preallocated.
static void dump_below_blocks(void) { dump_within(250000, true); }

static void dump_with_pending_limit(void) {
  use_block(SIGXFSZ, 0);
  limit_files(4096, true);
  int file = memfd_create("limited", MFD_CLOEXEC);
  use_say("beyond: %zd\n", pwrite(file, "1", 1, 4096));
  use_tell("before");
  take_both();
  use_tell("after");
}
static void repair_below_limit(void) {
  limit_files(0, false);
  survive();
  unlimit_files();
  use_tell("survived");
}
static void repair_below_hard_limit(void) {
  limit_files(4096, true);
  survive();
  use_tell("survived");
}
static void repair_with_pending_limit(void) {
  use_block(SIGXFSZ, 0);
  limit_files(4096, true);
  int file = memfd_create("limited", MFD_CLOEXEC);
  use_say("beyond: %zd\n", pwrite(file, "1", 1, 4096));
  survive();
  use_tell("survived");
}

static void leave_by_exit(int signal, siginfo_t *information, void *context) {
  (void)signal;
  (void)information;
  (void)context;
  _exit(7);
}
static void before_exit(void) { use_handle(SIGSEGV, leave_by_exit, 0); }
static void exit_below_limit(void) {
  limit_files(0, false);
  *use_locked_page() = 1;
}
static void before_sent(void) { use_handle(SIGQUIT, tick, 0); }
static void handle_sent_below_limit(void) {
  limit_files(0, false);
  for (int round = 0; round < 3; round++) use_send(SIGQUIT);
  unlimit_files();
  use_say("ran %d times\n", ticks);
  use_tell("survived");
}
static void crash_below_hard_limit(void) {
  limit_files(0, true);
  *use_locked_page() = 1;
}

const struct use uses_of_dumps[] = {
    {"dumps-pending", NULL, dump_with_all_pending},
    {"dumps-profiling-pending", block_profiling, dump_with_pending_profiling},
    {"dumps-profiling-timer", block_profiling, dump_while_profiling},
    {"dumps-profiling-thread", NULL, dump_with_threads_profiling},
    {"dumps-profiler", NULL, dump_with_profiler},
    {"dumps-profiler-ends", NULL, dump_and_end_by_profiling},
    {"dumps-signals-default", NULL, dump_default},
    {"dumps-signals-ignored", NULL, dump_ignored},
    {"dumps-signals-handled", NULL, dump_handled},
    {"dumps-signals-default-crash", NULL, crash_default},
    {"dumps-signals-ignored-crash", NULL, crash_ignored},
    {"dumps-signals-handled-crash", NULL, crash_handled},
    {"dumps-signals-default-survived", before_repair, survive_default},
    {"dumps-signals-handled-survived", before_repair, survive_handled},
    {"dumps-limit", NULL, dump_below_limit},
    {"dumps-limit-handled", handle_limit, dump_below_limit},
    {"dumps-limit-hard", NULL, dump_below_hard_limit},
    {"dumps-limit-blocks", NULL, dump_below_blocks},
    {"dumps-limit-pending", NULL, dump_with_pending_limit},
    {"dumps-limit-repaired", before_repair, repair_below_limit},
    {"dumps-limit-hard-repaired", before_repair, repair_below_hard_limit},
    {"dumps-limit-pending-repaired", before_repair, repair_with_pending_limit},
    {"dumps-limit-exit", before_exit, exit_below_limit},
    {"dumps-limit-sent", before_sent, handle_sent_below_limit},
    {"dumps-limit-crash", NULL, crash_below_hard_limit},
    {NULL, NULL, NULL},
};
