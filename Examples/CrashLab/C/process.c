// Functions that need fork(2), which Swift does not import, and thread names, which glibc declares
// only for _GNU_SOURCE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

void crashlab_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

int crashlab_fork(void) { return fork(); }

int crashlab_fork_idle(void) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the prctl.
  while (getppid() == parent) pause();
  _exit(0);
}

int crashlab_fork_into_namespace(void) {
  if (unshare(CLONE_NEWPID) == -1) return -1;
  pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

// Waits until a process sleeps in the kernel, or for a second.
static void wait_until_asleep(pid_t process) {
  char path[32], text[128];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  for (int i = 0; i < 1000; i++, usleep(1000)) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file == -1 ? -1 : read(file, text, sizeof text - 1);
    if (file != -1) close(file);
    if (count <= 0) return;
    text[count] = 0;
    if (strstr(text, ") S ")) return;
  }
}

__attribute__((noinline)) void crash_sent(int signal) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == -1) return;
  if (child == 0) {
    // Uses `parent` and not getppid(): of 64 threads that do this at once, the first ends the
    // process. The children of the others then have another parent, which may be the shell that
    // runs all of this.
    wait_until_asleep(parent);
    if (getppid() == parent) kill(parent, signal);
    // The report names the sender if it still exists. A process that survives the signal waits for
    // the sender's end.
    for (int i = 0; i < 200 && getppid() == parent; i++) usleep(1000);
    _exit(0);
  }
  while (waitpid(child, NULL, 0) == -1) {
  }
  // The kernel may have chosen another thread for the signal; the first process of a namespace
  // survives it.
  usleep(1000000);
  __asm__ volatile("");
}

static volatile sig_atomic_t is_asked_to_end;

static void note_request(int signal) {
  (void)signal;
  is_asked_to_end = 1;
}

void end_terminated(int heeds) {
  signal(SIGTERM, note_request);
  pid_t parent = getpid();
  if (fork() == 0) {
    if (getppid() == parent) kill(parent, SIGTERM);
    usleep(200000);
    // If `parent` is no longer the parent, it has ended, and another process may have its ID.
    if (!heeds && getppid() == parent) kill(parent, SIGKILL);
    _exit(0);
  }
  while (!heeds || !is_asked_to_end) usleep(1000);
  exit(0);
}
