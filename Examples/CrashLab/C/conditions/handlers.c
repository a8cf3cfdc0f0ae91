// Signal handlers of the program, installed before ours and after it.
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CCrashLab.h"

static const int crash_signals[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
enum { crash_signal_count = sizeof crash_signals / sizeof *crash_signals };

static void say(const char *text, int signal) {
  char line[64];
  int length = snprintf(line, sizeof line, "%s: signal %d\n", text, signal);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(70);
}

// Ends the process by the default action: a fault recurs when the handler returns, any other signal
// is sent again.
static void end(int signal_number, int was_sent) {
  signal(signal_number, SIG_DFL);
  if (was_sent) raise(signal_number);
}

static void end_as_told(int signal, siginfo_t *information) {
  int recurs = information->si_code > 0 && information->si_code < 0x80 && signal != SIGTRAP && signal != SIGSYS;
  end(signal, !recurs);
}

static void with_information(int signal, siginfo_t *information, void *context) {
  (void)context;
  say("the program's handler", signal);
  end_as_told(signal, information);
}

static void install(void (*handler)(int, siginfo_t *, void *), struct sigaction *old) {
  for (int index = 0; index < crash_signal_count; index++) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(crash_signals[index], &action, old == NULL ? NULL : &old[crash_signals[index]]);
  }
}

void condition_handler_before(void) { install(with_information, NULL); }

static void old_style(int signal) {
  say("the program's handler", signal);
  // The handler cannot know whether the fault recurs, so it sends the signal again, which ends the
  // process in either case.
  end(signal, 1);
}

void condition_old_style_handler_before(void) {
  for (int index = 0; index < crash_signal_count; index++) signal(crash_signals[index], old_style);
}

void condition_handler_after(void) { install(with_information, NULL); }

static struct sigaction before[65];

static void chain(int signal, siginfo_t *information, void *context) {
  say("the program's handler", signal);
  struct sigaction *next = &before[signal];
  if (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN) {
    end_as_told(signal, information);
    return;
  }
  sigaction(signal, next, NULL);
  if (next->sa_flags & SA_SIGINFO)
    next->sa_sigaction(signal, information, context);
  else
    next->sa_handler(signal);
}

void condition_chaining_handler_after(void) { install(chain, before); }

static char *locked_page;

// Decides by the address, like a runtime that uses faults; any other fault is a crash.
static bool take_own_fault(int signal, void *information, void *context) {
  (void)context;
  char *address = ((siginfo_t *)information)->si_addr;
  if (signal != SIGSEGV || address < locked_page || address >= locked_page + 4096) return false;
  return mprotect(locked_page, 4096, PROT_READ | PROT_WRITE) == 0;
}

bool (*condition_first_chance(void))(int, void *, void *) { return take_own_fault; }

void condition_use_fault(void) {
  locked_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (locked_page == MAP_FAILED) _exit(70);
  *(volatile char *)locked_page = 1;
}
