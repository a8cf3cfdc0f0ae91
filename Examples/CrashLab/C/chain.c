// Programs with their own signal handlers, installed before ours. Each program prints what its
// handlers see; the output must be the same with and without our handler.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "CCrashLab.h"

static sigjmp_buf way_out[2];
static __thread int lane;
static volatile sig_atomic_t calls;
static stack_t alternate;

static void say(const char *text) {
  ssize_t ignored = write(STDOUT_FILENO, text, strlen(text));
  (void)ignored;
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags, int blocked) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  if (blocked) sigaddset(&action.sa_mask, blocked);
  sigaction(signal, &action, NULL);
}

static char *locked_pages(int count) {
  return mmap(NULL, (size_t)count * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// -- Handlers -------------------------------------------------------------------------------------------------------

static void unlock(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)context;
  calls++;
  void *page = (void *)((uintptr_t)information->si_addr & ~(uintptr_t)4095);
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) _exit(70);
}

static void leave(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  siglongjmp(way_out[lane], 1);
}

static void leave_without_information(int signal) {
  if (signal == SIGSEGV) calls++;
  siglongjmp(way_out[0], 1);
}

static void just_return(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  say("previous handler\n");
}

static void abort_instead(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  abort();
}

static void exit_instead(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  exit(22);
}

static void exit_at_once(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  _exit(23);
}

static void exit_quickly(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  quick_exit(24);
}

static void raise_other(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  raise(SIGFPE);
}

static void fault_again(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  say("previous handler\n");
  crash_null_call();
}

static void raise_by_default(int number, siginfo_t *information, void *context) {
  (void)information, (void)context;
  say("previous handler\n");
  signal(number, SIG_DFL);
  raise(number);
}

static void give_up_after_five(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  if (++calls == 5) _exit(21);
}

static void fault_once_more(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  if (++calls == 1) crash_null_call();
  siglongjmp(way_out[0], 1);
}

// Prints everything that a handler can observe about its call.
static void look(int signal, siginfo_t *information, void *context) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  char text[300];
  stack_t stack;
  sigaltstack(NULL, &stack);
  uintptr_t here = (uintptr_t)&stack;
  const ucontext_t *machine = context;
  snprintf(text, sizeof text,
           "signal %d %d code %d address %p blocked segv %d usr1 %d usr2 %d hup %d term %d stack %d %d interrupted hup %d\n",
           signal, information->si_signo, information->si_code, information->si_addr, sigismember(&mask, SIGSEGV),
           sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2), sigismember(&mask, SIGHUP),
           sigismember(&mask, SIGTERM), stack.ss_sp == alternate.ss_sp,
           here - (uintptr_t)stack.ss_sp < stack.ss_size, sigismember(&machine->uc_sigmask, SIGHUP));
  say(text);
  siglongjmp(way_out[0], 1);
}

// A fault whose cause disappears before the process ends, as if another thread had mapped the page.
static char *mended;

static bool unlock_first(int signal, void *information, void *context) {
  siginfo_t *fault = information;
  if (mended && fault->si_addr == mended) {
    mmap(mended, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return false;
  }
  if (signal != SIGSEGV || fault->si_code != SEGV_ACCERR) return false;
  unlock(signal, fault, context);
  return true;
}

// Alternates between returning and leaving by siglongjmp.
static void return_then_leave(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  if (++calls % 2 == 0) siglongjmp(way_out[0], 1);
}

// Returns four times for each of two threads, which alternate, before it fixes the cause.
static pthread_barrier_t turns;
static __thread int lane_calls;
static void return_in_turns(int signal, siginfo_t *information, void *context) {
  pthread_barrier_wait(&turns);
  if (++lane_calls == 5) unlock(signal, information, context);
}

// A signal handler that is installed after ours and calls ours first. Its own work needs another thread of the program,
// and takes longer than our time limit. If our handler is not installed, this handler performs the default action.
static struct sigaction before_later[65];
static int question[2], reply[2];

static void *answer_questions(void *argument) {
  char byte;
  while (read(question[0], &byte, 1) == 1)
    if (write(reply[1], &byte, 1) != 1) break;
  return argument;
}

static void pass_on(int number, siginfo_t *information, void *context) {
  struct sigaction *next = &before_later[number];
  if (next->sa_handler != SIG_DFL) {
    next->sa_sigaction(number, information, context);
    return;
  }
  bool comes_again = information->si_code > 0 && number != SIGABRT;
  signal(number, SIG_DFL);
  if (!comes_again) raise(number);
}

static void pass_on_then_work(int number, siginfo_t *information, void *context) {
  say("later handler\n");
  pass_on(number, information, context);
  char byte = 'x';
  if (write(question[1], &byte, 1) != 1 || read(reply[0], &byte, 1) != 1) _exit(72);
  struct timespec time = {3, 0};
  while (nanosleep(&time, &time) != 0) {
  }
  say("worked\n");
}

static void pass_on_then_leave(int number, siginfo_t *information, void *context) {
  say("later handler\n");
  // There is no handler to call, and this handler does not restore the default action.
  if (before_later[number].sa_handler != SIG_DFL) pass_on(number, information, context);
  siglongjmp(way_out[0], 1);
}

// The kernel's mask, because this package's pthread_sigmask returns the mask that the thread has asked for.
static uint64_t kernel_mask(void) {
  uint64_t mask = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
  return mask;
}

static void pass_on_and_compare(int number, siginfo_t *information, void *context) {
  uint64_t mask = kernel_mask();
  pass_on(number, information, context);
  say(kernel_mask() == mask ? "mask kept\n" : "mask changed\n");
}

static void install_later(int signal, void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(signal, &action, &before_later[signal]);
}

void crashlab_take_signal(int signal) { install(signal, just_return, 0, 0); }

bool crashlab_is_caught(int signal) {
  struct sigaction action;
  return sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

bool (*crashlab_first_chance(void))(int, void *, void *) { return unlock_first; }

// -- Scenes: code that runs before our handler starts, and after
// ---------------------------------------------------------

static void write_to_pages(int count) {
  char *pages = locked_pages(count);
  for (int i = 0; i < count; i++) pages[i * 4096] = 1;
}

static void try_out(int times) {
  for (volatile int i = 0; i < times; i++)
    if (sigsetjmp(way_out[0], 1) == 0) *(volatile char *)crashlab_address((uintptr_t)i * 8) = 1;
}

static void count_calls(void) {
  char text[40];
  snprintf(text, sizeof text, "%d calls\n", (int)calls);
  say(text);
}

static void before_fix(void) { install(SIGSEGV, unlock, SA_ONSTACK, 0); }
static void run_fix(void) { write_to_pages(2); }
static void run_fix_killed(void) {
  write_to_pages(2);
  kill(getpid(), SIGKILL);
}
static void run_many(void) { write_to_pages(20); }

static void before_longjmp(void) { install(SIGSEGV, leave, SA_ONSTACK, 0); }
static void run_longjmp(void) { try_out(2); }

static void before_signal(void) { signal(SIGSEGV, leave_without_information); }

static void run_longjmp_again(void) {
  for (volatile int i = 0; i < 5; i++)
    if (sigsetjmp(way_out[0], 1) == 0) *(volatile char *)crashlab_address(0) = 1;
}
static void before_return_then_leave(void) { install(SIGSEGV, return_then_leave, SA_ONSTACK, 0); }

static void before_turns(void) {
  pthread_barrier_init(&turns, NULL, 2);
  install(SIGSEGV, return_in_turns, SA_ONSTACK, 0);
}
static void *write_in_turns(void *argument) {
  *(volatile char *)argument = 1;
  return NULL;
}
static void run_turns(void) {
  pthread_t threads[2];
  char *pages = locked_pages(2);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, write_in_turns, pages + i * 4096);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void before_reset(void) { install(SIGSEGV, just_return, SA_ONSTACK | SA_RESETHAND, 0); }
static void before_abort(void) { install(SIGSEGV, abort_instead, SA_ONSTACK, 0); }
static void before_abort_chained(void) {
  before_abort();
  install(SIGABRT, raise_by_default, SA_ONSTACK, 0);
}
static void before_exit(void) { install(SIGSEGV, exit_instead, SA_ONSTACK, 0); }
static void before_immediate_exit(void) { install(SIGSEGV, exit_at_once, SA_ONSTACK, 0); }
static void before_quick_exit(void) { install(SIGSEGV, exit_quickly, SA_ONSTACK, 0); }
static void before_other_signal(void) { install(SIGSEGV, raise_other, SA_ONSTACK, 0); }
static void before_nested(void) { install(SIGSEGV, fault_again, SA_ONSTACK, 0); }
static void before_nodefer(void) { install(SIGSEGV, fault_once_more, SA_ONSTACK | SA_NODEFER, 0); }
static void before_stubborn(void) { install(SIGSEGV, give_up_after_five, SA_ONSTACK, 0); }
static void before_raise(void) { install(SIGSEGV, raise_by_default, SA_ONSTACK, 0); }
static void run_fault(void) { try_out(1); }

// Ends in the handler of another signal, long after the handler of the crash was left.
static void run_longjmp_then_exit(void) {
  try_out(1);
  install(SIGUSR1, exit_at_once, SA_ONSTACK, 0);
  raise(SIGUSR1);
}

static void run_longjmp_then_abort(void) {
  try_out(1);
  install(SIGUSR1, abort_instead, SA_ONSTACK, 0);
  raise(SIGUSR1);
}

static void touch_and_wait(bool writes) {
  mended = mmap(NULL, 4096, writes ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mended == MAP_FAILED) abort();
  if (writes)
    *(volatile char *)mended = 1;
  else {
    munmap(mended, 4096);
    (void)*(volatile char *)mended;
  }
  for (;;) pause();
}
static void run_mended_read(void) { touch_and_wait(false); }
static void run_mended_write(void) { touch_and_wait(true); }

static void before_sent(void) { install(SIGABRT, just_return, SA_ONSTACK, 0); }
static void run_sent(void) {
  crash_sent(SIGABRT);
  crash_sent(SIGABRT);
}
// A signal that arrives while the process waits in read(2).
static int done[2], answer[2];
static void return_and_tell(int signal, siginfo_t *information, void *context) {
  just_return(signal, information, context);
  if (write(done[1], "x", 1) != 1) _exit(71);
}
static void wait_for_read(pid_t process) {
  char path[40], text[16] = "";
  snprintf(path, sizeof path, "/proc/%d/syscall", process);
  while (strncmp(text, "0 ", 2) != 0 && strncmp(text, "63 ", 3) != 0) {
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file)) text[0] = 0;
    if (file) fclose(file);
    usleep(1000);
  }
}
static void before_restart(void) { install(SIGABRT, return_and_tell, SA_ONSTACK | SA_RESTART, 0); }
static void before_interrupt(void) { install(SIGABRT, return_and_tell, SA_ONSTACK, 0); }
static void run_read(void) {
  if (pipe(done) != 0 || pipe(answer) != 0) return;
  pid_t child = fork();
  if (child == 0) {
    char byte;
    wait_for_read(getppid());
    kill(getppid(), SIGABRT);
    if (read(done[0], &byte, 1) != 1 || write(answer[1], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte;
  say(read(answer[0], &byte, 1) == 1 ? "read went on\n" : "read was interrupted\n");
  while (waitpid(child, NULL, 0) == -1) {
  }
}

static void run_sent_then_fault(void) {
  crash_sent(SIGABRT);
  say("went on\n");
  crash_null_call();
}
static void run_segv_then_fault(void) {
  crash_sent(SIGSEGV);
  say("went on\n");
  crash_null_call();
}

static void before_look(void) {
  alternate.ss_size = 64 << 10;
  alternate.ss_sp = malloc(alternate.ss_size);
  sigaltstack(&alternate, NULL);
  install(SIGSEGV, look, SA_ONSTACK, SIGUSR1);
}
static void run_look(void) {
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  sigprocmask(SIG_BLOCK, &hangup, NULL);
  try_out(2);
  stack_t stack;
  sigaltstack(NULL, &stack);
  say(stack.ss_sp == alternate.ss_sp && stack.ss_size == alternate.ss_size ? "same stack\n" : "another stack\n");
}

// The same on an alternate stack that is too small for our handler; it is set after our handler has
// started.
static void use_small_stack(void) {
  alternate.ss_size = 12 << 10;
  alternate.ss_sp = malloc(alternate.ss_size);
  sigaltstack(&alternate, NULL);
}
static void before_small_look(void) { install(SIGSEGV, look, SA_ONSTACK, SIGUSR1); }
static void run_small_look(void) {
  use_small_stack();
  run_look();
}
static void run_small_fault(void) {
  use_small_stack();
  run_fault();
}
static void run_small_longjmp(void) {
  use_small_stack();
  try_out(100);
}

static pthread_barrier_t barrier;
static void *crash_in_lane(void *argument) {
  lane = (int)(intptr_t)argument;
  pthread_barrier_wait(&barrier);
  if (sigsetjmp(way_out[lane], 1) == 0) *(volatile char *)crashlab_address((uintptr_t)lane * 8) = 1;
  return NULL;
}
static void run_threads(void) {
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, crash_in_lane, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

// Two threads whose crashes no handler handles.
static void *die_in_lane(void *argument) {
  pthread_barrier_wait(&barrier);
  if (argument) crash_null_call();
  crash_illegal_instruction();
  return NULL;
}
static void run_deaths(void) {
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, die_in_lane, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

// Threads whose crashes no handler handles, each with a different signal. The kernel has no room
// for queued real-time signals, so threads that crash later are not stopped where they wait.
static void *die_of_kind(void *argument) {
  int kind = (int)(intptr_t)argument % 4;
  pthread_barrier_wait(&barrier);
  if (kind == 0) crash_null_call();
  if (kind == 1) crash_illegal_instruction();
  if (kind == 2) crash_divide_by_zero();
  abort();
}
static void run_mixed_deaths(void) {
  enum { count = 8 };
  pthread_t threads[count];
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_SIGPENDING, &none) != 0) abort();
  pthread_barrier_init(&barrier, NULL, count);
  for (intptr_t i = 0; i < count; i++) pthread_create(&threads[i], NULL, die_of_kind, (void *)i);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void prepare_work(int signal) {
  pthread_t thread;
  sigset_t sent;
  sigemptyset(&sent);
  sigaddset(&sent, signal);
  // The thread that must answer must not be the one that asks.
  pthread_sigmask(SIG_BLOCK, &sent, NULL);
  if (pipe(question) != 0 || pipe(reply) != 0 || pthread_create(&thread, NULL, answer_questions, NULL) != 0) abort();
  pthread_sigmask(SIG_UNBLOCK, &sent, NULL);
  install_later(signal, pass_on_then_work);
}
static void run_later_fault(void) {
  prepare_work(SIGSEGV);
  crash_null_call();
}
static void run_later_abort(void) {
  prepare_work(SIGABRT);
  abort();
}
static void run_later_sent(void) {
  prepare_work(SIGSEGV);
  crash_sent(SIGSEGV);
  say("went on\n");
}
static void run_first_chance_in_later(void) {
  install_later(SIGSEGV, pass_on_and_compare);
  run_fix();
}

static void leave_later(int signal, void (*crash)(void)) {
  stack_t stack, after;
  // The kernel writes only 8 of the 128 bytes.
  sigset_t mask = {0}, mask_after = {0};
  sigaltstack(NULL, &stack);
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  install_later(signal, pass_on_then_leave);
  if (sigsetjmp(way_out[0], 1) == 0) crash();
  sigaltstack(NULL, &after);
  pthread_sigmask(SIG_BLOCK, NULL, &mask_after);
  say(stack.ss_sp == after.ss_sp && stack.ss_size == after.ss_size ? "same stack\n" : "another stack\n");
  say(memcmp(&mask, &mask_after, sizeof mask) == 0 ? "same mask\n" : "another mask\n");
  crash_divide_by_zero();
}
static void run_abort(void) { abort(); }
static void run_raised(void) { raise(SIGSEGV); }
static void run_later_leaves(void) { leave_later(SIGSEGV, crash_null_call); }
static void run_later_leaves_abort(void) { leave_later(SIGABRT, run_abort); }

static void run_raise(void) {
  raise(SIGABRT);
  say("went on\n");
  abort();
}

static void run_child(void) {
  pid_t child = fork();
  if (child == 0) {
    crash_null_call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  char text[40];
  snprintf(text, sizeof text, "child status %d\n", status);
  say(text);
  // If the process exited, it would remove its files, because it has no crash to report.
  kill(getpid(), SIGKILL);
}

static void nothing(void) {}

static const struct scene {
  const char *name;
  void (*before)(void);
  void (*run)(void);
} scenes[] = {
    {"fix", before_fix, run_fix},
    {"fix-killed", before_fix, run_fix_killed},
    {"many", before_fix, run_many},
    {"longjmp", before_longjmp, run_longjmp},
    {"longjmp-again", before_longjmp, run_longjmp_again},
    {"return-then-leave", before_return_then_leave, run_longjmp_again},
    {"turns", before_turns, run_turns},
    {"signal", before_signal, run_longjmp},
    {"reset", before_reset, run_fault},
    {"abort", before_abort, run_fault},
    {"abort-chained", before_abort_chained, run_fault},
    {"sent-abort", before_abort, run_raised},
    {"exit", before_exit, run_fault},
    {"immediate-exit", before_immediate_exit, run_fault},
    {"quick-exit", before_quick_exit, run_fault},
    {"longjmp-then-exit", before_longjmp, run_longjmp_then_exit},
    {"longjmp-then-abort", before_longjmp, run_longjmp_then_abort},
    {"other-signal", before_other_signal, run_fault},
    {"nested", before_nested, run_fault},
    {"nodefer", before_nodefer, run_fault},
    {"stubborn", before_stubborn, run_fault},
    {"raise", before_raise, run_fault},
    {"sent", before_sent, run_sent},
    {"restart", before_restart, run_read},
    {"interrupt", before_interrupt, run_read},
    {"sent-then-fault", nothing, run_sent_then_fault},
    {"segv-then-fault", nothing, run_segv_then_fault},
    {"look", before_look, run_look},
    {"small-look", before_small_look, run_small_look},
    {"small-nodefer", before_nodefer, run_small_fault},
    {"small-longjmp", before_longjmp, run_small_longjmp},
    {"threads", before_longjmp, run_threads},
    {"deaths", nothing, run_deaths},
    {"mixed-deaths", nothing, run_mixed_deaths},
    {"later-fault", nothing, run_later_fault},
    {"later-abort", nothing, run_later_abort},
    {"later-sent", nothing, run_later_sent},
    {"later-leaves", nothing, run_later_leaves},
    {"later-leaves-abort", nothing, run_later_leaves_abort},
    {"raise-then-abort", nothing, run_raise},
    {"abort-of-handled", before_sent, run_abort},
    {"child", nothing, run_child},
    {"first-chance", nothing, run_fix},
    {"first-chance-then-fault", nothing, run_fault},
    {"first-chance-in-later-handler", nothing, run_first_chance_in_later},
    {"first-chance-mends-read", nothing, run_mended_read},
    {"first-chance-mends-write", nothing, run_mended_write},
};

static const struct scene *find(const char *name) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (strcmp(scenes[i].name, name) == 0) return &scenes[i];
  return NULL;
}

bool crashlab_prepare_scene(const char *name) {
  const struct scene *scene = find(name);
  if (scene) scene->before();
  return scene != NULL;
}

void crashlab_run_scene(const char *name) {
  find(name)->run();
  count_calls();
}
