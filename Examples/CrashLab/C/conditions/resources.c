// Resources that the process has used up, or that were taken away from it.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "CCrashLab.h"

static void check(int result, const char *call) {
  if (result >= 0) return;
  fprintf(stderr, "crash-lab: %s: %s\n", call, strerror(errno));
  exit(70);
}

void condition_no_proc(void) {
  check(unshare(CLONE_NEWNS), "unshare");
  check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
  check(mount("none", "/proc", "tmpfs", 0, NULL), "mount");
}

void condition_no_descriptors(const char *database) {
  (void)database;
  struct rlimit limit;
  check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
  limit.rlim_cur = 256;
  check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
}

void condition_close_range(const char *database) {
  (void)database;
  check(close_range(3, ~0U, 0), "close_range");
}

void condition_file_size_zero(const char *database) {
  (void)database;
  struct rlimit limit;
  check(getrlimit(RLIMIT_FSIZE, &limit), "getrlimit");
  limit.rlim_cur = 0;
  check(setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
}

void condition_full_disk(const char *database) {
  if (database == NULL) return;
  struct statfs disk;
  check(statfs(database, &disk), "statfs");
  if ((unsigned long long)disk.f_blocks * (unsigned long long)disk.f_bsize > 64ULL << 20) {
    fprintf(stderr, "crash-lab: %s is on a disk larger than 64 MiB, which is not filled\n", database);
    exit(70);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/filler", database);
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  check(file, path);
  static const char zeros[4096];
  while (write(file, zeros, sizeof zeros) > 0) {
  }
  close(file);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

void condition_directory_deleted(const char *database) {
  if (database == NULL) return;
  check(nftw(database, remove_entry, 16, FTW_DEPTH | FTW_PHYS), "nftw");
}

void condition_directory_read_only(const char *database) {
  if (database == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/pending-serialized-dumps", database);
  check(chmod(path, 0500), path);
  check(chmod(database, 0500), database);
}

void condition_no_working_directory(const char *database) {
  (void)database;
  char path[] = "/tmp/crash-lab-XXXXXX";
  if (mkdtemp(path) == NULL) exit(70);
  check(chdir(path), "chdir");
  check(rmdir(path), "rmdir");
}

void condition_other_standard_error(const char *database) {
  (void)database;
  int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  check(file, "open");
  check(dup2(file, STDERR_FILENO), "dup2");
  if (file != STDERR_FILENO) close(file);
}

static void limit_pending_signals(rlim_t count) {
  struct rlimit limit;
  check(getrlimit(RLIMIT_SIGPENDING, &limit), "getrlimit");
  limit.rlim_cur = count;
  check(setrlimit(RLIMIT_SIGPENDING, &limit), "setrlimit");
}

void condition_no_pending_signals(void) { limit_pending_signals(0); }

void condition_full_signal_queue(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGRTMIN + 1);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  // Sends the signals to this thread, the only one that blocks them. The kernel counts the pending
  // signals of all processes of the user: if this process alone exceeds the limit, the queue stays
  // full, even if other processes receive theirs.
  for (int sent = 0; sent < 32; sent++) {
    if (pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){0}) != 0) break;
  }
  limit_pending_signals(16);
}
