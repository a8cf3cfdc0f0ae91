// Masks: what a thread sets and reads back, what it passes on, and what it opens for a single call.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static void change(const char *name, int how, sigset_t set) {
  sigset_t before;
  sigemptyset(&before);
  int result = pthread_sigmask(how, &set, &before);
  use_say("%s: %d before %016llx now %016llx\n", name, result,
          (unsigned long long)(use_word(&before) & ~USES_FAULTS), (unsigned long long)use_mask());
}

static void read_back(void) {
  sigset_t all, libc;
  sigfillset(&all);
  // 32 and 33, which sigaddset refuses.
  memset(&libc, 0xff, sizeof libc);
  change("none", SIG_SETMASK, use_set(0));
  change("abort", SIG_BLOCK, use_set(SIGABRT, 0));
  change("two", SIG_BLOCK, use_set(SIGUSR1, SIGRTMIN + 3, 0));
  change("not abort", SIG_UNBLOCK, use_set(SIGABRT, 0));
  change("all", SIG_SETMASK, all);
  change("libc's", SIG_SETMASK, libc);
  change("not two", SIG_UNBLOCK, use_set(SIGUSR1, SIGSEGV, 0));
  change("fault", SIG_BLOCK, use_set(SIGSEGV, SIGBUS, 0));
  change("abort again", SIG_SETMASK, use_set(SIGABRT, 0));
}

static void faults_read_back(void) {
  sigset_t all, now;
  sigfillset(&all);
  sigemptyset(&now);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  use_say("faults blocked: %08llx\n", (unsigned long long)(use_word(&now) & USES_FAULTS));
}

static void *inherit(void *argument) {
  use_tell("inherits");
  return argument;
}
static int inherit_there(void *argument) {
  use_tell("inherits from thrd_create");
  // An abort that is sent here stays pending, because this thread blocks it as its creator does.
  use_send(SIGABRT);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, 0);
  int taken = 0;
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
  return argument == NULL;
}

static void by_attribute(void *(*run)(void *), sigset_t set) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &set);
  if (pthread_create(&thread, &attributes, run, NULL) != 0) _exit(74);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static void in_child(void) {
  use_tell("child");
  use_block(SIGUSR1, 0);
  use_tell("child, later");
}

static void pass_on(void) {
  use_block(SIGABRT, SIGUSR2, SIGRTMIN, 0);
  pthread_join(use_start(inherit, NULL), NULL);
  by_attribute(inherit, use_set(SIGUSR1, SIGABRT, 0));
  by_attribute(inherit, use_set(0));
  thrd_t thread;
  int result = 0;
  if (thrd_create(&thread, inherit_there, NULL) != thrd_success) _exit(74);
  thrd_join(thread, &result);
  use_in_child("fork", in_child);
  pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    use_tell("clone");
    _exit(0);
  }
  use_await(child, "clone");
  use_tell("maker");
}

static volatile sig_atomic_t calls;
static uint64_t seen;
static void look(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  seen = use_mask();
  use_block_all();
}

static void in_handler(void) {
  struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
  sigaddset(&action.sa_mask, SIGABRT);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  use_say("in a handler %016llx, after it %016llx\n", (unsigned long long)seen, (unsigned long long)use_mask());
}

static void note(int signal, siginfo_t *information, void *context) {
  (void)context;
  calls++;
  use_say("handler of %d, code %d\n", signal, information->si_code);
}

static void prepare_note(void) { use_handle(SIGABRT, note, 0); }

// The calls that open a blocked signal while they wait.
static void open_for_calls(void) {
  sigset_t none = use_set(0);
  use_block(SIGABRT, SIGUSR1, 0);
  use_send(SIGABRT);
  int result = sigsuspend(&none);
  use_tell(result == -1 && errno == EINTR ? "sigsuspend" : "?");
  use_send(SIGABRT);
  result = ppoll(NULL, 0, &(struct timespec){10, 0}, &none);
  use_tell(result == -1 && errno == EINTR ? "ppoll" : "?");
  use_send(SIGABRT);
  result = pselect(0, NULL, NULL, NULL, &(struct timespec){10, 0}, &none);
  use_tell(result == -1 && errno == EINTR ? "pselect" : "?");
  use_send(SIGABRT);
  struct epoll_event event;
  int file = epoll_create1(EPOLL_CLOEXEC);
  result = epoll_pwait(file, &event, 1, 10000, &none);
  use_tell(result == -1 && errno == EINTR ? "epoll_pwait" : "?");
  use_say("%d calls\n", (int)calls);
}

static void open_and_end(void) {
  sigset_t none = use_set(0);
  use_block(SIGABRT, 0);
  use_send(SIGABRT);
  use_tell("sent");
  ppoll(NULL, 0, &(struct timespec){10, 0}, &none);
  use_say("came back\n");
}

// The functions of BSD and System V, which are libc's own.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static unsigned long long whole_mask(void) {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, NULL, &set);
  return use_word(&set);
}
static void use_older(void) {
  use_say("sigblock %x now %016llx\n", sigblock(1 << (SIGSEGV - 1) | 1 << (SIGHUP - 1)), whole_mask());
  use_say("sigsetmask %x now %016llx\n", sigsetmask(1 << (SIGBUS - 1)), whole_mask());
  use_say("sigrelse %d now %016llx\n", sigrelse(SIGBUS), whole_mask());
  use_say("sighold %d %d now %016llx\n", sighold(SIGABRT), sighold(SIGUSR1), whole_mask());
  use_say("sighold of none %d %d\n", sighold(0), sighold(99));
  use_say("sigset %d now %016llx\n", sigset(SIGUSR1, SIG_IGN) == SIG_HOLD, whole_mask());
  use_say("sigset %d now %016llx\n", sigset(SIGUSR1, SIG_HOLD) == SIG_IGN, whole_mask());
  use_say("sigset of none %d\n", sigset(99, SIG_DFL) == SIG_ERR);
  sighold(SIGSEGV);
  crash_null_call();
}
#pragma clang diagnostic pop

// A fault whose signal was blocked past libc ends the process, also with a handler of the program.
static void fault_blocked(void) {
  uint64_t signal = 1ull << (SIGSEGV - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal, NULL, sizeof signal);
  crash_null_call();
}
static void prepare_fault_note(void) { use_handle(SIGSEGV, note, 0); }

// Blocked before the handler starts, and never again.
static void block_all_before(void) { use_block_all(); }
static void tell_after_start(void) {
  use_tell("main");
  pthread_join(use_start(inherit, NULL), NULL);
  use_send(SIGABRT);
  use_send(SIGTERM);
  use_tell("sent");
}
static void fault_after_start(void) { crash_null_call(); }

// A fault signal that was sent and is pending at the start belongs to the program.
static void send_fault_before(void) {
  use_block(SIGSEGV, 0);
  use_send(SIGSEGV);
}
static void take_fault(void) {
  sigset_t set = use_set(SIGSEGV, 0);
  int taken = 0;
  use_tell("main");
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}

// A program with a handler of its own for SIGSEGV blocks the signal, and then faults or waits for it.
static void leave_nothing(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  use_say("the handler ran\n");
  _exit(5);
}
static void before_handled(void) { use_handle(SIGSEGV, leave_nothing, 0); }
static void fault_handled(void) {
  sigset_t now = use_set(0);
  use_block(SIGSEGV, 0);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  use_say("blocked: %d\n", sigismember(&now, SIGSEGV));
  crash_null_call();
}
static void fault_handled_later(void) {
  before_handled();
  fault_handled();
}
static void *fault_all_blocked(void *argument) {
  use_block_all();
  crash_null_call();
  return argument;
}
static void fault_handled_on_thread(void) { pthread_join(use_start(fault_all_blocked, NULL), NULL); }
static void wait_handled(void) {
  sigset_t set = use_set(SIGSEGV, 0);
  int taken = 0;
  use_block(SIGSEGV, 0);
  use_send(SIGSEGV);
  use_tell("sent");
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}

// A SIGSEGV that is sent is not seen by sigwait.
static void wait_for_fault(void) {
  sigset_t set = use_set(SIGSEGV, 0);
  int taken = 0;
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  use_say("sends\n");
  use_send(SIGSEGV);
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}

const struct use uses_of_masks[] = {
    {"masks-read-back", NULL, read_back},
    {"masks-faults-read-back", NULL, faults_read_back},
    {"masks-passed-on", NULL, pass_on},
    {"masks-in-handler", NULL, in_handler},
    {"masks-open-for-calls", prepare_note, open_for_calls},
    {"masks-open-and-end", NULL, open_and_end},
    {"masks-older-functions", NULL, use_older},
    {"masks-fault-blocked", NULL, fault_blocked},
    {"masks-fault-blocked-with-handler", prepare_fault_note, fault_blocked},
    {"masks-all-before", block_all_before, tell_after_start},
    {"masks-all-before-fault", block_all_before, fault_after_start},
    {"masks-fault-pending-before", send_fault_before, take_fault},
    {"masks-handled-fault", before_handled, fault_handled},
    {"masks-handled-fault-later", NULL, fault_handled_later},
    {"masks-handled-fault-thread", before_handled, fault_handled_on_thread},
    {"masks-handled-awaited", before_handled, wait_handled},
    {"masks-fault-awaited", NULL, wait_for_fault},
    {NULL, NULL, NULL},
};
