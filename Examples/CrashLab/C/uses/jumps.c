// Programs that repair their faults or jump out of handlers, and whose handlers save and restore
// masks.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

enum { faults = 4 };
static sigjmp_buf place;
static volatile sig_atomic_t calls;

static void fault(void) { *(volatile char *)use_locked_page() = 1; }

// The handlers save the mask, unblock every signal, and restore the mask, as a logger does around
// its work.
static sigset_t saved;
static void begin_work(void) {
  sigset_t none = use_set(0);
  sigemptyset(&saved);
  pthread_sigmask(SIG_SETMASK, &none, &saved);
}
static void end_work(void) { pthread_sigmask(SIG_SETMASK, &saved, NULL); }
// The same with every signal blocked.
static void begin_quiet(void) {
  sigset_t all;
  sigfillset(&all);
  sigemptyset(&saved);
  sigprocmask(SIG_SETMASK, &all, &saved);
}
static void end_quiet(void) { sigprocmask(SIG_SETMASK, &saved, NULL); }

static void leave(int signal, siginfo_t *information, void *context) {
  (void)information, (void)context;
  calls++;
  use_say("handler of %d, mask %016llx\n", signal, (unsigned long long)use_mask());
  begin_quiet();
  end_quiet();
  siglongjmp(place, 1);
}
static void work_and_leave(int signal, siginfo_t *information, void *context) {
  begin_work();
  end_work();
  leave(signal, information, context);
}
static void leave_quietly(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  begin_quiet();
  siglongjmp(place, 1);
}
static void repair(int signal, siginfo_t *information, void *context) {
  (void)context;
  calls++;
  begin_quiet();
  use_say("handler of %d, mask %016llx\n", signal, (unsigned long long)use_mask());
  end_quiet();
  use_unlock_page(information->si_addr);
}
static void work_and_repair(int signal, siginfo_t *information, void *context) {
  begin_work();
  end_work();
  repair(signal, information, context);
}
// Returns with every signal blocked in the handler; the kernel restores the mask of the thread.
static void repair_quietly(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)context;
  calls++;
  begin_quiet();
  use_unlock_page(information->si_addr);
}

static void leave_each(void) {
  for (int round = 0; round < faults; round++) {
    if (sigsetjmp(place, 1) == 0) fault();
    use_tell("left");
  }
  use_say("%d calls\n", (int)calls);
}
static void repair_each(void) {
  for (int round = 0; round < faults; round++) {
    fault();
    use_tell("repaired");
  }
  use_say("%d calls\n", (int)calls);
}

static void before_leave(void) { use_handle(SIGSEGV, leave, 0); }
static void before_work_and_leave(void) { use_handle(SIGSEGV, work_and_leave, 0); }
static void before_leave_quietly(void) { use_handle(SIGSEGV, leave_quietly, 0); }
static void before_leave_nodefer(void) { use_handle(SIGSEGV, leave, SA_NODEFER); }
static void before_repair(void) { use_handle(SIGSEGV, repair, 0); }
static void before_work_and_repair(void) { use_handle(SIGSEGV, work_and_repair, SA_NODEFER); }
static void before_repair_quietly(void) { use_handle(SIGSEGV, repair_quietly, 0); }

static void later_leave(void) {
  before_leave();
  leave_each();
}
static void later_work_and_leave(void) {
  before_work_and_leave();
  leave_each();
}
static void later_leave_quietly(void) {
  before_leave_quietly();
  leave_each();
}
static void later_repair(void) {
  before_repair();
  repair_each();
}
static void later_work_and_repair(void) {
  before_work_and_repair();
  repair_each();
}
static void later_repair_quietly(void) {
  before_repair_quietly();
  repair_each();
}

static void *leave_on_thread(void *argument) {
  leave_each();
  return argument;
}
static void leave_on_threads(void) {
  for (int round = 0; round < 3; round++) pthread_join(use_start(leave_on_thread, NULL), NULL);
}

// longjmp does not restore the mask: the program does so itself.
static jmp_buf plain_place;
static void leave_plainly(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  longjmp(plain_place, 1);
}
static void before_leave_plainly(void) { use_handle(SIGSEGV, leave_plainly, 0); }
static void open_after_jump(void) {
  for (int round = 0; round < faults; round++) {
    if (setjmp(plain_place) == 0) fault();
    sigset_t set = use_set(SIGSEGV, 0);
    sigset_t before = use_set(0);
    pthread_sigmask(SIG_UNBLOCK, &set, &before);
    use_say("left, blocks SIGSEGV: %d\n", sigismember(&before, SIGSEGV));
  }
}
static void later_open_after_jump(void) {
  before_leave_plainly();
  open_after_jump();
}
// The second fault is blocked, and ends the process.
static void stay_blocked_after_jump(void) {
  for (int round = 0; round < faults; round++) {
    if (setjmp(plain_place) == 0) fault();
    use_say("left\n");
  }
}
static void later_stay_blocked(void) {
  before_leave_plainly();
  stay_blocked_after_jump();
}
// The thread itself keeps blocked what the kernel blocked in the handler.
static void keep_blocked(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  sigset_t now = use_set(0);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &now, NULL);
  sigset_t after = use_set(0);
  pthread_sigmask(SIG_BLOCK, NULL, &after);
  use_say("in the handler: %d then %d\n", sigismember(&now, SIGSEGV), sigismember(&after, SIGSEGV));
  siglongjmp(place, 1);
}
static void before_keep_blocked(void) { use_handle(SIGSEGV, keep_blocked, 0); }

// A fault in a handler that blocks its signal ends the process.
static void fault_again(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  use_say("faults in the handler\n");
  begin_quiet();
  end_quiet();
  fault();
}
static void before_fault_again(void) { use_handle(SIGSEGV, fault_again, 0); }

// -- Jumps with other masks -------------------------------------------------------------------------------------------

static void jump_over_masks(void) {
  if (sigsetjmp(place, 1) == 0) {
    use_block_all();
    siglongjmp(place, 1);
  }
  use_tell("jumped");
  use_block(SIGABRT, SIGUSR1, 0);
  if (sigsetjmp(place, 1) == 0) {
    sigset_t none = use_set(0);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    siglongjmp(place, 1);
  }
  use_tell("jumped back");
  use_send(SIGABRT);
  use_tell("sent");
  if (sigsetjmp(place, 0) == 0) {
    use_block_all();
    siglongjmp(place, 1);
  }
  use_tell("jumped with the mask");
}

// SIGABRT was sent while it was blocked; the jump opens it.
static void jump_to_open(void) {
  if (sigsetjmp(place, 1) == 0) {
    use_block(SIGABRT, 0);
    use_send(SIGABRT);
    use_tell("sent");
    siglongjmp(place, 1);
  }
  use_say("came back\n");
}

static void jump_from_timer(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  begin_quiet();
  siglongjmp(place, 1);
}
static void jump_out_of_timer(void) {
  use_handle(SIGALRM, jump_from_timer, 0);
  use_block(SIGABRT, 0);
  for (int round = 0; round < 5; round++) {
    if (sigsetjmp(place, 1) == 0) {
      struct itimerval timer = {{0, 0}, {0, 2000}};
      setitimer(ITIMER_REAL, &timer, NULL);
      for (;;) pause();
    }
    use_tell("jumped");
  }
}

static void raise_second(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  use_tell("first");
  raise(SIGUSR2);
  use_say("never\n");
}
static void jump_from_second(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  use_tell("second");
  siglongjmp(place, 1);
}
static void jump_out_of_two(void) {
  use_handle(SIGUSR1, raise_second, 0);
  use_handle(SIGUSR2, jump_from_second, 0);
  for (int round = 0; round < 3; round++) {
    if (sigsetjmp(place, 1) == 0) raise(SIGUSR1);
    use_tell("left");
  }
}

// -- Handlers that change what they return to ------------------------------------------------------------------------

static void edit_mask(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information;
  ucontext_t *place = context;
  if (sigismember(&place->uc_sigmask, SIGABRT)) {
    sigdelset(&place->uc_sigmask, SIGABRT);
  } else {
    sigaddset(&place->uc_sigmask, SIGABRT);
  }
}
static void return_to_masks(void) {
  use_handle(SIGUSR1, edit_mask, 0);
  raise(SIGUSR1);
  use_tell("closed");
  use_send(SIGABRT);
  use_tell("sent");
  raise(SIGUSR1);
  use_say("came back\n");
}

static void edit_fault_mask(int signal, siginfo_t *information, void *context) {
  edit_mask(signal, information, context);
  use_unlock_page(information->si_addr);
}
static void before_edit(void) { use_handle(SIGSEGV, edit_fault_mask, 0); }
static void repair_and_edit(void) {
  for (int round = 0; round < faults; round++) {
    fault();
    use_tell("repaired");
    if (round % 2 == 0) {
      use_send(SIGABRT);
      sigset_t set = use_set(SIGABRT, 0);
      int taken = 0;
      sigwait(&set, &taken);
      use_say("took %d\n", taken);
    }
  }
}

// Skips the instruction, as emulators do.
static void skip(int signal, siginfo_t *information, void *context) {
  (void)information;
  ucontext_t *place = context;
  use_say("skips after %d\n", signal);
#if defined(__x86_64__)
  if (signal == SIGILL) place->uc_mcontext.gregs[REG_RIP] += 2;
#else
  place->uc_mcontext.pc += 4;
#endif
}
static void before_skip(void) {
  use_handle(SIGILL, skip, 0);
  use_handle(SIGTRAP, skip, 0);
}
static void skip_each(void) {
  for (int round = 0; round < faults; round++) {
#if defined(__x86_64__)
    __asm__ volatile("ud2");
    __asm__ volatile("int3");
#else
    __asm__ volatile("udf #0");
    __asm__ volatile("brk #0");
#endif
    use_tell("went on");
  }
}

// A page beyond the end of a file; the handler makes the file longer.
static int growing;
static void grow(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
  begin_quiet();
  if (ftruncate(growing, calls * 4096) != 0) _exit(77);
  end_quiet();
}
static void before_grow(void) { use_handle(SIGBUS, grow, 0); }
static void grow_file(void) {
  growing = memfd_create("growing", MFD_CLOEXEC);
  char *pages = mmap(NULL, faults * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, growing, 0);
  for (int page = 0; page < faults; page++) {
    pages[page * 4096] = 1;
    use_say("page %d after %d calls\n", page, (int)calls);
  }
}

static void leave_arithmetic(int signal, siginfo_t *information, void *context) {
  (void)information, (void)context;
  use_say("handler of %d\n", signal);
  begin_work();
  end_work();
  siglongjmp(place, 1);
}
static void before_sent_faults(void) {
  int signals[] = {SIGFPE, SIGBUS, SIGSYS, SIGTRAP, SIGILL, SIGSEGV};
  for (int index = 0; index < 6; index++) use_handle(signals[index], leave_arithmetic, 0);
}
static void leave_raised(void) {
  int signals[] = {SIGFPE, SIGBUS, SIGSYS, SIGTRAP, SIGILL, SIGSEGV};
  for (int round = 0; round < 2; round++)
    for (int index = 0; index < 6; index++) {
      if (sigsetjmp(place, 1) == 0) raise(signals[index]);
      use_tell("left");
    }
}

// Handlers that are reset, and signals that are ignored.
static void before_reset(void) { use_handle(SIGSEGV, leave, (int)SA_RESETHAND); }
static void before_ignored(void) { signal(SIGSEGV, SIG_IGN); }
static void ignore_sent(void) {
  raise(SIGSEGV);
  use_send(SIGSEGV);
  use_say("ignored\n");
  fault();
}
static void later_ignored(void) {
  before_ignored();
  ignore_sent();
}
// A handler with its own mask and without SA_NODEFER sees what it asked for.
static void see_mask(int signal, siginfo_t *information, void *context) {
  (void)information, (void)context;
  sigset_t now = use_set(0);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  use_say("handler of %d, mask %016llx\n", signal, (unsigned long long)use_word(&now));
  siglongjmp(place, 1);
}
static void before_see_mask(void) {
  for (int index = 0; index < 3; index++) {
    int signals[] = {SIGSEGV, SIGBUS, SIGUSR1};
    struct sigaction action = {.sa_sigaction = see_mask, .sa_flags = SA_SIGINFO};
    sigaddset(&action.sa_mask, SIGABRT);
    sigaddset(&action.sa_mask, SIGFPE);
    sigaction(signals[index], &action, NULL);
  }
}
static void see_each_mask(void) {
  for (int round = 0; round < 2; round++) {
    if (sigsetjmp(place, 1) == 0) fault();
    if (sigsetjmp(place, 1) == 0) raise(SIGBUS);
    if (sigsetjmp(place, 1) == 0) raise(SIGUSR1);
    use_tell("left");
    use_block(SIGHUP, 0);
  }
}
static void later_see_mask(void) {
  before_see_mask();
  see_each_mask();
}

const struct use uses_of_jumps[] = {
    {"jumps-leave", before_leave, leave_each},
    {"jumps-leave-later", NULL, later_leave},
    {"jumps-leave-nodefer", before_leave_nodefer, leave_each},
    {"jumps-work-and-leave", before_work_and_leave, leave_each},
    {"jumps-work-and-leave-later", NULL, later_work_and_leave},
    {"jumps-leave-quietly", before_leave_quietly, leave_each},
    {"jumps-leave-quietly-later", NULL, later_leave_quietly},
    {"jumps-leave-threads", before_work_and_leave, leave_on_threads},
    {"jumps-repair", before_repair, repair_each},
    {"jumps-repair-later", NULL, later_repair},
    {"jumps-work-and-repair", before_work_and_repair, repair_each},
    {"jumps-work-and-repair-later", NULL, later_work_and_repair},
    {"jumps-repair-quietly", before_repair_quietly, repair_each},
    {"jumps-repair-quietly-later", NULL, later_repair_quietly},
    {"jumps-open-after", before_leave_plainly, open_after_jump},
    {"jumps-open-after-later", NULL, later_open_after_jump},
    {"jumps-stay-blocked", before_leave_plainly, stay_blocked_after_jump},
    {"jumps-stay-blocked-later", NULL, later_stay_blocked},
    {"jumps-keep-blocked", before_keep_blocked, leave_each},
    {"jumps-fault-in-handler", before_fault_again, leave_each},
    {"jumps-over-masks", NULL, jump_over_masks},
    {"jumps-to-open", NULL, jump_to_open},
    {"jumps-out-of-timer", NULL, jump_out_of_timer},
    {"jumps-out-of-two", NULL, jump_out_of_two},
    {"jumps-edited-mask", NULL, return_to_masks},
    {"jumps-repair-and-edit", before_edit, repair_and_edit},
    {"jumps-skip", before_skip, skip_each},
    {"jumps-grow", before_grow, grow_file},
    {"jumps-raised", before_sent_faults, leave_raised},
    {"jumps-reset", before_reset, leave_each},
    {"jumps-ignored", before_ignored, ignore_sent},
    {"jumps-ignored-later", NULL, later_ignored},
    {"jumps-own-mask", before_see_mask, see_each_mask},
    {"jumps-own-mask-later", NULL, later_see_mask},
    {NULL, NULL, NULL},
};
