// An end by the kernel because a cgroup is out of memory. Source: cgroups(7), the kernel's
// cgroup-v1/memory.rst.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
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
  // Writing the limit fails if a signal is pending.
  ssize_t count;
  do count = write(file, text, strlen(text));
  while (count < 0 && errno == EINTR);
  close(file);
  return count == (ssize_t)strlen(text) ? 0 : -1;
}

// Runs a program outside the group. The program removes the group when no process is left in it. It
// is not a forked child, because that would share pages with this process, and the kernel copies
// each shared page that a dump reads (Linux mm/gup.c, gup_must_unshare).
static int remove_when_empty(const char *directory, pid_t parent) {
  char script[512];
  snprintf(script, sizeof script,
           "while kill -0 %d; do sleep 0.02; done; for i in $(seq 250); do rmdir %s && break; sleep 0.02; done",
           parent, directory);
  char *arguments[] = {"sh", "-c", script, NULL};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // A reader of this process's output must not wait for that program, too.
  for (int descriptor = 0; descriptor < 3; descriptor++)
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  pid_t other;
  int result = posix_spawn(&other, "/bin/sh", &files, NULL, arguments, NULL);
  posix_spawn_file_actions_destroy(&files);
  return result;
}

static char directory[128];
static int is_unified;

static int limit_memory(size_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%zu", bytes);
  // The file is missing if the kernel does not count swap; the swap limit may not be below the
  // memory limit.
  if (is_unified) put(directory, "memory.swap.max", "0");
  int result = put(directory, is_unified ? "memory.max" : "memory.limit_in_bytes", text);
  if (!is_unified) put(directory, "memory.memsw.limit_in_bytes", text);
  return result;
}

static int enter_cgroup(size_t bytes) {
  is_unified = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  char process[32];
  snprintf(directory, sizeof directory, "/sys/fs/cgroup/%scrash-lab-%d", is_unified ? "" : "memory/", getpid());
  snprintf(process, sizeof process, "%d", getpid());
  if (mkdir(directory, 0755) != 0) return -1;
  if (remove_when_empty(directory, getpid()) != 0) return -1;
  return limit_memory(bytes) != 0 ? -1 : put(directory, "cgroup.procs", process);
}

void crashlab_enter_memory_cgroup(void) {
  if (enter_cgroup((size_t)1 << 30) != 0) _exit(99);
}

void crashlab_leave_memory(size_t bytes) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, is_unified ? "memory.current" : "memory.usage_in_bytes");
  for (int turn = 0; turn < 100; turn++) {
    char text[32] = "";
    // Releases memory that is charged in advance: it would count as used, and would be available
    // beyond `bytes`.
    if (!is_unified) put(directory, "memory.force_empty", "0");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (count <= 0) break;
    // Fails if more memory is in use by now.
    if (limit_memory(strtoull(text, NULL, 10) + bytes) == 0) return;
  }
  _exit(99);
}

__attribute__((noinline)) void crash_out_of_memory(void) {
  if (enter_cgroup(67108864) != 0) return;
  for (;;) {
    char *volatile bytes = malloc(1 << 20);
    if (bytes != NULL) memset(bytes, 1, 1 << 20);
  }
}
