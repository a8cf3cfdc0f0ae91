// Declarations shared by the parts of the fault injector; see main.c.
#ifndef INJECTOR_H
#define INJECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// The thread that makes a call: the first one that crashed, or another one inside our handlers.
// Calls are counted separately for each role, so that a number identifies the same call in every
// run, however the scheduler interleaves threads.
enum role { CRASHING, OTHER, ROLES };

enum kill_time { KILL_NEVER, KILL_BEFORE, KILL_AFTER };

// The disturbance of the thread that reaches a function.
enum breakpoint_kind { FAULT, HANG };
struct breakpoint {
  const char *symbol;
  enum breakpoint_kind kind;
  long steps;  // instructions to run before the fault
};
enum { BREAKPOINTS = 4 };

struct plan {
  FILE *report;
  // Fails the call with this index in the role's order; 0 for none.
  long fail_index;
  enum role fail_role;
  int error;
  // Fails every call of these system calls from `fail_index` on; if there are none, only the call
  // with that index.
  long fail_numbers[4];
  int fail_number_count;
  // Kills the process at the call with this index.
  enum kill_time kill_time;
  long kill_index;
  enum role kill_role;
  // Runs a shell command before the call with this index; the call waits for the command.
  const char *command;
  long command_index;
  enum role command_role;
  // If not 0: kills the process at the first call of this system call, instead of an index.
  long kill_number;
  // Stops the process at the call with this index, and continues it after this number of milliseconds.
  long stop_index;
  enum role stop_role;
  long stop_milliseconds;
  // The breakpoints in the order in which they are hit; each is set when the previous one has been
  // hit.
  struct breakpoint breakpoints[BREAKPOINTS];
  int breakpoint_count;
};

// Follows a program, which is stopped before its exec, until it ends; returns the status of
// waitpid(2).
int trace(pid_t process, const char *executable, const struct plan *plan);

// registers.c: the functions that depend on the architecture.
void registers_skip_call(pid_t thread);
void registers_set_result(pid_t thread, long value);
// The address of the breakpoint that a thread has reached.
uint64_t registers_breakpoint(pid_t thread);
void registers_jump(pid_t thread, uint64_t address);
extern const uint64_t breakpoint_code, hang_code, code_mask;

// symbols.c: the address of a function in the running process; 0 if there is none, or more than
// one.
uint64_t symbol_address(pid_t process, const char *executable, const char *name);

#endif
