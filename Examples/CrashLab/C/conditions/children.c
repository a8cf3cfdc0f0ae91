// Crashes of child processes, and of their parents afterwards.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

// Writes each line at once, because buffers of a crashing process are lost.
static void print_status(int status) {
  char line[64];
  int length = snprintf(line, sizeof line, "child: status 0x%x\n", status & ~0x80);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) abort();
}

static void report(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) == -1) {
  }
  print_status(status);
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

// The vfork child runs in its parent's memory and on its parent's stack, so it must leave both
// unchanged.
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
    // A program without a handler, whose crash must not be taken for ours.
    execl("/bin/sh", "sh", "-c", "kill -SEGV $$", (char *)NULL);
    _exit(70);
  }
  report(child);
  body(context);
}

// Children for which none of our atfork handlers has run.

// Exits when the child has ended; the child crashes.
static void crash_in(pid_t child, crashlab_body body, void *context) {
  if (child == -1) exit(70);
  if (child == 0) {
    body(context);
    _exit(3);
  }
  report(child);
  exit(0);
}

// Weak, because glibc has it only since 2.34.
extern pid_t _Fork(void) __attribute__((weak));

void condition_in_bare_fork(crashlab_body body, void *context) {
  crash_in(_Fork ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), body, context);
}

void condition_in_clone(crashlab_body body, void *context) {
  crash_in((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), body, context);
}

void condition_in_namespace_clone(crashlab_body body, void *context) {
  crash_in((pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0), body, context);
}

static crashlab_body held_body;
static void *held_context;

static void crash_in_atfork(void) {
  if (held_body) held_body(held_context);
}

void condition_prepare_early_atfork(void) { pthread_atfork(NULL, NULL, crash_in_atfork); }

void condition_in_early_atfork(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
  crash_in(fork(), body, context);
}

static int compare(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }

// Continues in a child, whose orphans are reparented to this process. This process prints how they
// ended, in a fixed order, and exits when all have ended.
void condition_collect_orphans(void) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) exit(70);
  if (forked() == 0) return;
  int statuses[16], count = 0;
  while (count < 16 && wait(&statuses[count]) != -1) count++;
  qsort(statuses, (size_t)count, sizeof *statuses, compare);
  for (int index = 0; index < count; index++) print_status(statuses[index]);
  exit(0);
}

void condition_in_daemon(crashlab_body body, void *context) {
  if (daemon(1, 1) != 0) _exit(70);
  body(context);
}

static char *full_disk;

void condition_remember_disk(const char *database) { full_disk = database ? strdup(database) : NULL; }

void condition_in_daemon_on_full_disk(crashlab_body body, void *context) {
  if (daemon(1, 1) != 0) _exit(70);
  condition_full_disk(full_disk);
  body(context);
}
