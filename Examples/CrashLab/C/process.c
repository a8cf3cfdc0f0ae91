// What needs fork(2), which Swift does not import, and names of threads, which glibc declares for _GNU_SOURCE only.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

void crashlab_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

int crashlab_fork_idle(void) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before that.
  while (getppid() == parent) pause();
  _exit(0);
}

__attribute__((noinline)) void crash_sent(int signal) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == -1) return;
  if (child == 0) {
    // Not getppid(): of 64 threads that do this at once the first ends the process, and the others' children then have its
    // reaper for a parent, who may be the shell that all of this runs in.
    if (getppid() == parent) kill(parent, signal);
    _exit(0);
  }
  while (waitpid(child, NULL, 0) == -1) {
  }
  __asm__ volatile("");
}
