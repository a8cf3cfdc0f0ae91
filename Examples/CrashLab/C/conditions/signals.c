// Signals that arrive while the handler works.
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "CCrashLab.h"

static volatile sig_atomic_t alarms;

static void count_alarm(int signal) {
  (void)signal;
  alarms++;
}

// The handler is installed without SA_RESTART, so that every interruptible call is interrupted.
void condition_alarm_storm(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_alarm;
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, NULL);
}

void condition_stop_and_continue(void) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (getppid() == parent) {
    kill(parent, SIGSTOP);
    usleep(300);
    kill(parent, SIGCONT);
    usleep(700);
  }
  _exit(0);
}
