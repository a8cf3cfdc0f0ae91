// An end by the kernel, for a cgroup's want of memory. Source: cgroups(7), the kernel's cgroup-v1/memory.rst.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "CCrashLab.h"

static int put(const char *directory, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  // The kernel gives up on a limit when a signal is pending.
  ssize_t count;
  do count = write(file, text, strlen(text));
  while (count < 0 && errno == EINTR);
  close(file);
  return count == (ssize_t)strlen(text) ? 0 : -1;
}

// Outside the group, and removes it when nobody is left in it.
static void remove_when_empty(const char *directory, pid_t parent) {
  if (fork() != 0) return;
  while (getppid() == parent) usleep(5000);
  for (int turn = 0; turn < 1000 && rmdir(directory) != 0; turn++) usleep(5000);
  _exit(0);
}

__attribute__((noinline)) void crash_out_of_memory(void) {
  int unified = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  char directory[128], process[32];
  snprintf(directory, sizeof directory, "/sys/fs/cgroup/%scrash-lab-%d", unified ? "" : "memory/", getpid());
  snprintf(process, sizeof process, "%d", getpid());
  if (mkdir(directory, 0755) != 0) return;
  remove_when_empty(directory, getpid());
  if (put(directory, unified ? "memory.max" : "memory.limit_in_bytes", "67108864") != 0) return;
  // Not there where the kernel does not count swap.
  put(directory, unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes", unified ? "0" : "67108864");
  if (put(directory, "cgroup.procs", process) != 0) return;
  for (;;) {
    char *volatile bytes = malloc(1 << 20);
    if (bytes != NULL) memset(bytes, 1, 1 << 20);
  }
}
