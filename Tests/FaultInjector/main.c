// Runs a program under ptrace until it crashes, and then disturbs the crash handler: the n-th system call fails without
// being executed, the process is killed at the n-th call, or a function faults or never returns. The report has one fact
// in each line:
//
//   entered SIGNAL            the first crash signal is delivered
//   call ROLE N NUMBER ARG…   a system call inside a handler, counted for each role
//   failed N                  the injector made call N fail
//   hit SYMBOL                a thread reached a function that was chosen to fault or to hang
//   end STATUS                the status of waitpid(2); "hung" if the injector had to kill the program
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector.h"

static pid_t child;
static volatile sig_atomic_t hung;

static void out_of_patience(int signal) {
  (void)signal;
  hung = 1;
  kill(child, SIGKILL);
}

static void usage(void) {
  fputs(
      "usage: FaultInjector --report FILE [OPTION...] -- PROGRAM [ARGUMENT...]\n"
      "  --fail ROLE N ERRNO          the N-th call of a role fails without being run\n"
      "  --fail-all ROLE N CALL[,CALL…] ERRNO\n"
      "                               every call with such a number fails from the N-th call on\n"
      "  --kill before|after ROLE N   the process is killed at the N-th call\n"
      "  --run ROLE N COMMAND         the shell runs a command before the N-th call\n"
      "  --kill-first ROLE CALL       the process is killed before the first call with such a number\n"
      "  --stop ROLE N MILLISECONDS   the process is stopped at the N-th call, for so long\n"
      "  --fault SYMBOL STEPS         a function faults after so many instructions\n"
      "  --hang SYMBOL                a function never ends\n"
      "  --patience SECONDS           how long the program may run; 30 if not given\n"
      "ROLE is crashing or other: the thread that crashed, or the other threads inside a handler.\n",
      stderr);
  exit(64);
}

static enum role role_of(const char *name) {
  if (strcmp(name, "crashing") == 0) return CRASHING;
  if (strcmp(name, "other") == 0) return OTHER;
  usage();
  return ROLES;
}

// Reads the options up to "--"; returns the index of the program's path.
static int read_options(int count, char **words, struct plan *plan, unsigned *patience) {
  int i = 1;
  while (i < count && strcmp(words[i], "--") != 0) {
    const char *option = words[i++];
    int left = 0;
    while (i + left < count && strcmp(words[i + left], "--") != 0) left++;
    char **values = words + i;
    if (strcmp(option, "--report") == 0 && left >= 1) {
      plan->report = fopen(values[0], "we");
      i += 1;
    } else if (strcmp(option, "--fail") == 0 && left >= 3) {
      plan->fail_role = role_of(values[0]);
      plan->fail_index = atol(values[1]);
      plan->error = atoi(values[2]);
      i += 3;
    } else if (strcmp(option, "--fail-all") == 0 && left >= 4) {
      plan->fail_role = role_of(values[0]);
      plan->fail_index = atol(values[1]);
      for (char *word = strtok(values[2], ","); word && plan->fail_number_count < 4; word = strtok(NULL, ","))
        plan->fail_numbers[plan->fail_number_count++] = atol(word);
      plan->error = atoi(values[3]);
      i += 4;
    } else if (strcmp(option, "--kill") == 0 && left >= 3) {
      plan->kill_time = strcmp(values[0], "before") == 0 ? KILL_BEFORE : KILL_AFTER;
      plan->kill_role = role_of(values[1]);
      plan->kill_index = atol(values[2]);
      i += 3;
    } else if (strcmp(option, "--run") == 0 && left >= 3) {
      plan->command_role = role_of(values[0]);
      plan->command_index = atol(values[1]);
      plan->command = values[2];
      i += 3;
    } else if (strcmp(option, "--kill-first") == 0 && left >= 2) {
      plan->kill_time = KILL_BEFORE;
      plan->kill_role = role_of(values[0]);
      plan->kill_number = atol(values[1]);
      i += 2;
    } else if (strcmp(option, "--stop") == 0 && left >= 3) {
      plan->stop_role = role_of(values[0]);
      plan->stop_index = atol(values[1]);
      plan->stop_milliseconds = atol(values[2]);
      i += 3;
    } else if (strcmp(option, "--fault") == 0 && left >= 2 && plan->breakpoint_count < BREAKPOINTS) {
      plan->breakpoints[plan->breakpoint_count++] = (struct breakpoint){values[0], FAULT, atol(values[1])};
      i += 2;
    } else if (strcmp(option, "--hang") == 0 && left >= 1 && plan->breakpoint_count < BREAKPOINTS) {
      plan->breakpoints[plan->breakpoint_count++] = (struct breakpoint){values[0], HANG, 0};
      i += 1;
    } else if (strcmp(option, "--patience") == 0 && left >= 1) {
      *patience = (unsigned)atoi(values[0]);
      i += 1;
    } else {
      usage();
    }
  }
  if (i + 1 >= count || !plan->report) usage();
  return i + 1;
}

int main(int count, char **words) {
  struct plan plan = {0};
  unsigned patience = 30;
  char **program = words + read_options(count, words, &plan, &patience);

  // The child waits on this pipe until it is traced.
  int gate[2];
  if (pipe(gate) != 0) return 71;
  child = fork();
  if (child < 0) return 71;
  if (child == 0) {
    char byte;
    close(gate[1]);
    if (read(gate[0], &byte, 1) != 0) _exit(71);
    close(gate[0]);
    execv(program[0], program);
    _exit(127);
  }
  close(gate[0]);
  if (ptrace(PTRACE_SEIZE, child, 0,
             (void *)(long)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) != 0 ||
      ptrace(PTRACE_INTERRUPT, child, 0, 0) != 0) {
    fprintf(stderr, "FaultInjector: ptrace: %s\n", strerror(errno));
    kill(child, SIGKILL);
    return 71;
  }
  close(gate[1]);
  struct sigaction action = {.sa_handler = out_of_patience};
  sigaction(SIGALRM, &action, NULL);
  alarm(patience);
  int status = trace(child, program[0], &plan);
  if (hung) fputs("hung\n", plan.report);
  fprintf(plan.report, "end %d\n", status);
  return fclose(plan.report) == 0 ? 0 : 74;
}
