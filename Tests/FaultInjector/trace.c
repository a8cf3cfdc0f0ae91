// Follows every thread of the victim, and counts the system calls that our handlers make. Source:
// ptrace(2).
//
// Counting starts with the first crash signal that is delivered. From then on, a thread is in a
// handler from the delivery of a signal that the process catches until the rt_sigreturn that ends
// the handler; only calls made there count. Counting ends with the rt_sigreturn of the thread that
// crashed: later calls are made by the program or a previous handler.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector.h"

struct thread {
  pid_t id;
  int depth;      // number of nested handlers
  bool in_call;
  int error;      // error that the current call must return; 0 to leave it unchanged
  bool is_last;   // the process is killed when this call returns
};

enum { THREADS = 512 };
static struct thread threads[THREADS];
static pid_t victim;
static pid_t crashed;  // the thread that crashed first
static bool over;
static long counts[ROLES];
static const struct plan *plan;
static const char *program;

// The current breakpoint: its index in the plan, its address, and the original code there.
static int current_breakpoint;
static uint64_t breakpoint_address, breakpoint_original;

static struct thread *thread_of(pid_t id) {
  struct thread *free_place = NULL;
  for (int i = 0; i < THREADS; i++) {
    if (threads[i].id == id) return &threads[i];
    if (threads[i].id == 0 && !free_place) free_place = &threads[i];
  }
  if (!free_place) {
    fprintf(stderr, "FaultInjector: more than %d threads\n", THREADS);
    kill(victim, SIGKILL);
    exit(2);
  }
  *free_place = (struct thread){.id = id};
  return free_place;
}

static bool is_crash_signal(int signal) {
  static const int all[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGXCPU, SIGXFSZ, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == signal) return true;
  return false;
}

static bool is_caught(int signal) {
  char path[64], line[256];
  unsigned long long mask = 0;
  snprintf(path, sizeof path, "/proc/%d/status", victim);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  while (fgets(line, sizeof line, file))
    if (strncmp(line, "SigCgt:", 7) == 0) mask = strtoull(line + 7, NULL, 16);
  fclose(file);
  return mask >> (signal - 1) & 1;
}

// Breakpoints

static void poke(uint64_t address, uint64_t code) {
  ptrace(PTRACE_POKETEXT, crashed, (void *)address, (void *)((breakpoint_original & ~code_mask) | code));
}

static void set_breakpoint(void) {
  if (current_breakpoint >= plan->breakpoint_count) return;
  const char *symbol = plan->breakpoints[current_breakpoint].symbol;
  breakpoint_address = symbol_address(victim, program, symbol);
  if (breakpoint_address == 0) {
    fprintf(stderr, "FaultInjector: no single function %s\n", symbol);
    kill(victim, SIGKILL);
    return;
  }
  breakpoint_original = (uint64_t)ptrace(PTRACE_PEEKTEXT, crashed, (void *)breakpoint_address, 0);
  poke(breakpoint_address, breakpoint_code);
}

// True if the thread stopped at our breakpoint.
static bool hit_breakpoint(pid_t id) {
  if (current_breakpoint >= plan->breakpoint_count || registers_breakpoint(id) != breakpoint_address) return false;
  const struct breakpoint *breakpoint = &plan->breakpoints[current_breakpoint++];
  fprintf(plan->report, "hit %s\n", breakpoint->symbol);
  if (breakpoint->kind == HANG) {
    poke(breakpoint_address, hang_code);
    registers_jump(id, breakpoint_address);
  } else {
    ptrace(PTRACE_POKETEXT, id, (void *)breakpoint_address, (void *)breakpoint_original);
    registers_jump(id, breakpoint_address);
    for (long step = 0; step < breakpoint->steps; step++) {
      int status;
      if (ptrace(PTRACE_SINGLESTEP, id, 0, 0) != 0 || waitpid(id, &status, __WALL) != id || !WIFSTOPPED(status)) break;
    }
    registers_jump(id, 0);
  }
  set_breakpoint();
  return true;
}

// System calls

// Uses a separate process instead of system(3), because the tracer's own loop must not collect the
// shell.
static void run_command(void) {
  pid_t runner = fork();
  if (runner == 0) {
    execl("/bin/sh", "sh", "-c", plan->command, (char *)NULL);
    _exit(127);
  }
  int status = -1;
  if (runner < 0 || waitpid(runner, &status, 0) != runner || status != 0) {
    fprintf(stderr, "FaultInjector: the command ended with status 0x%x\n", status);
    kill(victim, SIGKILL);
    exit(71);
  }
  fputs("ran\n", plan->report);
}

// Stops the process, and starts a child that continues it later. The child waits, because this process must keep
// following the threads.
static void stop_for_a_while(void) {
  pid_t waker = fork();
  if (waker == 0) {
    usleep((useconds_t)plan->stop_milliseconds * 1000);
    kill(victim, SIGCONT);
    _exit(0);
  }
  if (waker > 0) kill(victim, SIGSTOP);
}

static void enter_call(struct thread *thread, const struct __ptrace_syscall_info *call) {
  thread->error = 0;
  thread->is_last = false;
  if (over || thread->depth == 0) return;
  bool is_return = call->entry.nr == SYS_rt_sigreturn;
  enum role role = thread->id == crashed ? CRASHING : OTHER;
  long index = ++counts[role];
  fprintf(plan->report, "call %s %ld %llu", role == CRASHING ? "crashing" : "other", index, (unsigned long long)call->entry.nr);
  for (int i = 0; i < 6; i++) fprintf(plan->report, " %llx", (unsigned long long)call->entry.args[i]);
  fputc('\n', plan->report);
  if (is_return) {
    thread->depth--;
    if (thread->id == crashed && thread->depth == 0) over = true;
  }
  if (plan->command && plan->command_role == role && plan->command_index == index) run_command();
  if (plan->stop_index == index && plan->stop_role == role) stop_for_a_while();
  bool is_to_kill = plan->kill_number != 0 ? (long)call->entry.nr == plan->kill_number : plan->kill_index == index;
  if (plan->kill_role == role && is_to_kill) {
    if (plan->kill_time == KILL_BEFORE) kill(victim, SIGKILL);
    thread->is_last = plan->kill_time == KILL_AFTER;
  }
  // rt_sigreturn is never failed: the kernel never fails it, and the thread would run into the code
  // after it.
  if (is_return || plan->fail_index == 0 || plan->fail_role != role) return;
  bool fails = plan->fail_number_count == 0 && index == plan->fail_index;
  for (int i = 0; i < plan->fail_number_count; i++)
    if (index >= plan->fail_index && (long)call->entry.nr == plan->fail_numbers[i]) fails = true;
  if (!fails) return;
  fprintf(plan->report, "failed %ld\n", index);
  thread->error = plan->error;
  registers_skip_call(thread->id);
}

static void stopped_at_call(struct thread *thread) {
  struct __ptrace_syscall_info call;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->id, sizeof call, &call) <= 0) return;
  if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
    enter_call(thread, &call);
  } else if (call.op == PTRACE_SYSCALL_INFO_EXIT) {
    if (thread->error != 0) registers_set_result(thread->id, -thread->error);
    thread->error = 0;
    if (thread->is_last) kill(victim, SIGKILL);
  }
}

// Returns the signal to deliver to the thread.
static int stopped_at_signal(struct thread *thread, int signal) {
  if (signal == SIGTRAP && crashed != 0 && hit_breakpoint(thread->id)) return 0;
  if (over) return signal;
  bool is_entry = crashed == 0 && is_crash_signal(signal) && is_caught(signal);
  if (is_entry) {
    crashed = thread->id;
    fprintf(plan->report, "entered %d\n", signal);
    set_breakpoint();
  }
  if (crashed != 0 && (is_entry || is_caught(signal))) thread->depth++;
  return signal;
}

int trace(pid_t process, const char *executable, const struct plan *the_plan) {
  victim = process;
  plan = the_plan;
  program = executable;
  while (true) {
    int status;
    pid_t id = waitpid(-1, &status, __WALL);
    if (id < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (!WIFSTOPPED(status)) {
      if (id == victim) return status;
      thread_of(id)->id = 0;
      continue;
    }
    struct thread *thread = thread_of(id);
    int signal = WSTOPSIG(status), event = status >> 16, passed_on = 0;
    if (signal == (SIGTRAP | 0x80)) {
      stopped_at_call(thread);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
      // The whole process was stopped, so this thread stays stopped until SIGCONT.
      ptrace(PTRACE_LISTEN, id, 0, 0);
      continue;
    } else if (event == 0) {
      passed_on = stopped_at_signal(thread, signal);
    }
    ptrace(PTRACE_SYSCALL, id, 0, (void *)(long)passed_on);
  }
}
