// Coroutines: contexts with their own stacks and masks.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

enum { stack_size = 64 << 10, small_stack = 16 << 10 };
static ucontext_t main_context, other;
static volatile sig_atomic_t calls;

static void make(ucontext_t *context, void (*run)(void), size_t size) {
  getcontext(context);
  context->uc_stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  context->uc_stack.ss_size = size;
  context->uc_link = &main_context;
  makecontext(context, run, 0);
}

static void take_turns(void) {
  for (int round = 0; round < 3; round++) {
    use_tell("coroutine");
    use_block(SIGUSR1 + round * 2, SIGABRT, 0);
    swapcontext(&other, &main_context);
  }
}
static void alternate(void) {
  make(&other, take_turns, stack_size);
  use_block(SIGHUP, 0);
  for (int round = 0; round < 3; round++) {
    swapcontext(&main_context, &other);
    use_tell("main");
  }
}

// The coroutine blocks SIGABRT, the main context does not.
static void wait_for_abort(void) {
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  use_tell("coroutine");
  sigset_t set = use_set(SIGABRT, 0);
  int taken = 0;
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}
static void abort_in_coroutine(void) {
  make(&other, wait_for_abort, stack_size);
  for (int round = 0; round < 2; round++) {
    swapcontext(&main_context, &other);
    use_tell("main");
    make(&other, wait_for_abort, stack_size);
  }
}
static void leave_pending(void) {
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  use_tell("coroutine");
}
static void open_by_switching(void) {
  make(&other, leave_pending, stack_size);
  swapcontext(&main_context, &other);
  use_say("came back\n");
}

static void switch_in_handler(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  use_block_all();
  setcontext(&main_context);
}
static void leave_by_context(void) {
  use_handle(SIGUSR1, switch_in_handler, 0);
  use_block(SIGABRT, 0);
  getcontext(&main_context);
  use_tell("main");
  if (calls < 3) raise(SIGUSR1);
}
static void before_fault(void) { use_handle(SIGSEGV, switch_in_handler, 0); }
static void leave_faults_by_context(void) {
  getcontext(&main_context);
  use_tell("main");
  if (calls < 3) *(volatile char *)use_locked_page() = 1;
}

// A scheduler: a timer's handler switches between coroutines.
static ucontext_t both[2];
static volatile int current, switches;
static void preempt(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  switches++;
  int from = current;
  current = 1 - from;
  swapcontext(&both[from], &both[current]);
}
static void run_until_done(void) {
  while (switches < 20) {
  }
  setcontext(&main_context);
}
static void preempt_by_timer(void) {
  volatile int is_done = 0;
  use_handle(SIGALRM, preempt, SA_RESTART);
  make(&both[0], run_until_done, stack_size);
  make(&both[1], run_until_done, stack_size);
  struct itimerval timer = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  getcontext(&main_context);
  if (!is_done) {
    is_done = 1;
    setitimer(ITIMER_REAL, &timer, NULL);
    setcontext(&both[0]);
  }
  setitimer(ITIMER_REAL, &none, NULL);
  use_say("switched: %d\n", switches >= 20);
  use_tell("main");
}

// A context that one thread has saved continues on another: its mask moves with it.
static ucontext_t moving;
static void *continue_it(void *argument) {
  (void)argument;
  use_tell("before");
  setcontext(&moving);
  return NULL;
}
static void wander(void) {
  use_block(SIGABRT, SIGUSR2, 0);
  swapcontext(&moving, &main_context);
  use_tell("on the other thread");
  use_send(SIGABRT);
  use_tell("sent");
  pthread_exit(NULL);
}
static void move(void) {
  make(&moving, wander, stack_size);
  swapcontext(&main_context, &moving);
  use_block(SIGABRT, 0);
  pthread_join(use_start(continue_it, NULL), NULL);
  use_tell("main");
}

// A fault and an abort on a coroutine's stack.
static void fault_here(void) { crash_null_call(); }
static void fault_on_coroutine(void) {
  make(&other, fault_here, small_stack);
  swapcontext(&main_context, &other);
}
static void abort_here(void) {
  use_block(SIGABRT, 0);
  abort();
}
static void abort_on_coroutine(void) {
  make(&other, abort_here, small_stack);
  swapcontext(&main_context, &other);
}
static sigjmp_buf place;
static void leave(int signal, siginfo_t *information, void *context) {
  (void)information, (void)context;
  use_say("handler of %d\n", signal);
  sigset_t none = use_set(0), before = use_set(0);
  pthread_sigmask(SIG_SETMASK, &none, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  siglongjmp(place, 1);
}
static void before_leave(void) { use_handle(SIGSEGV, leave, 0); }
static void fault_and_go_on(void) {
  for (int round = 0; round < 4; round++) {
    if (sigsetjmp(place, 1) == 0) *(volatile char *)use_locked_page() = 1;
    use_tell("coroutine");
    swapcontext(&other, &main_context);
  }
}
static void leave_on_coroutine(void) {
  make(&other, fault_and_go_on, small_stack);
  for (int round = 0; round < 4; round++) {
    swapcontext(&main_context, &other);
    use_tell("main");
  }
}

const struct use uses_of_contexts[] = {
    {"contexts-turns", NULL, alternate},
    {"contexts-abort", NULL, abort_in_coroutine},
    {"contexts-open", NULL, open_by_switching},
    {"contexts-from-handler", NULL, leave_by_context},
    {"contexts-from-fault", before_fault, leave_faults_by_context},
    {"contexts-preempted", NULL, preempt_by_timer},
    {"contexts-moved", NULL, move},
    {"contexts-fault", NULL, fault_on_coroutine},
    {"contexts-aborted", NULL, abort_on_coroutine},
    {"contexts-leave", before_leave, leave_on_coroutine},
    {NULL, NULL, NULL},
};
