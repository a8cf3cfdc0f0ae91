// Crashes of children, and of parents after them.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

// One write for each line: children of a crashing process have no buffers that anybody would write out.
static void report(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) == -1) {
  }
  char line[64];
  int length = snprintf(line, sizeof line, "child: status 0x%x\n", status & ~0x80);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) abort();
}

static pid_t forked(void) {
  pid_t child = fork();
  if (child == -1) exit(70);
  return child;
}

void condition_in_child(crashlab_body body, void *context) {
  pid_t child = forked();
  if (child == 0) {
    body(context);
    _exit(3);
  }
  report(child);
  exit(0);
}

void condition_in_child_then_parent(crashlab_body body, void *context) {
  pid_t child = forked();
  if (child != 0) report(child);
  body(context);
}

void condition_in_grandchild(crashlab_body body, void *context) {
  pid_t child = forked();
  if (child == 0) condition_in_child(body, context);
  report(child);
  exit(0);
}

void condition_in_workers(crashlab_body body, void *context) {
  enum { count = 8 };
  pid_t workers[count];
  for (int index = 0; index < count; index++) {
    workers[index] = forked();
    if (workers[index] != 0) continue;
    body(context);
    _exit(3);
  }
  for (int index = 0; index < count; index++) report(workers[index]);
  exit(0);
}

// The child runs in its parent's memory, on its parent's stack: what it does must leave no trace there.
__attribute__((noinline)) static pid_t crash_in_vfork_child(crashlab_body body, void *context) {
  pid_t child = vfork();
  if (child == 0) {
    body(context);
    _exit(3);
  }
  return child;
}

void condition_in_vfork_child_then_parent(crashlab_body body, void *context) {
  pid_t child = crash_in_vfork_child(body, context);
  if (child == -1) exit(70);
  report(child);
  body(context);
}

void condition_after_exec_child(crashlab_body body, void *context) {
  pid_t child = forked();
  if (child == 0) {
    // A program without a handler, which must not be taken for ours.
    execl("/bin/sh", "sh", "-c", "kill -SEGV $$", (char *)NULL);
    _exit(70);
  }
  report(child);
  body(context);
}
