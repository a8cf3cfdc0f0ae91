// What the parts of the fault injector share; see main.c.
#ifndef INJECTOR_H
#define INJECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// Whose calls: those of the thread that crashed first, or those that other threads make inside our handlers. Counted apart,
// so that a number stands for the same call in every run: threads mix as the scheduler likes.
enum role { CRASHING, OTHER, ROLES };

enum kill_time { KILL_NEVER, KILL_BEFORE, KILL_AFTER };

// What is done to the thread that reaches a function.
enum breakpoint_kind { FAULT, HANG };
struct breakpoint {
  const char *symbol;
  enum breakpoint_kind kind;
  long steps;  // instructions that it still runs before it faults
};
enum { BREAKPOINTS = 4 };

struct plan {
  FILE *report;
  // Fails the call with this number in this role's order; 0 for none.
  long fail_index;
  enum role fail_role;
  int error;
  // Fails every call with one of these system calls' numbers from `fail_index` on; that one call only, if there are none.
  long fail_numbers[4];
  int fail_number_count;
  // Kills the process at a call.
  enum kill_time kill_time;
  long kill_index;
  enum role kill_role;
  // Runs a shell's command before a call, which waits for it.
  const char *command;
  long command_index;
  enum role command_role;
  // The first call with this system call's number, in place of the index; 0 for none.
  long kill_number;
  // Stops the process at the call with this index, and continues it after this number of milliseconds.
  long stop_index;
  enum role stop_role;
  long stop_milliseconds;
  // The breakpoints in the order in which they are hit; each is set when the one before it was hit.
  struct breakpoint breakpoints[BREAKPOINTS];
  int breakpoint_count;
};

// Runs a program that is already stopped before its exec, to its end; returns the status of waitpid(2).
int trace(pid_t process, const char *executable, const struct plan *plan);

// registers.c: the few things that differ between architectures.
void registers_skip_call(pid_t thread);
void registers_set_result(pid_t thread, long value);
// The address of the breakpoint that a thread has run into.
uint64_t registers_breakpoint(pid_t thread);
void registers_jump(pid_t thread, uint64_t address);
extern const uint64_t breakpoint_code, hang_code, code_mask;

// symbols.c: the address of a function in the running process; 0 if it is not there, or more than one is.
uint64_t symbol_address(pid_t process, const char *executable, const char *name);

#endif
