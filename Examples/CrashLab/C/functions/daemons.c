// Compares daemon, also where parts of it fail.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "functions.h"

// The conditions under which it is called.
enum condition {
  plain,
  closed_files,
  without_null,
  file_for_null,
  other_device_for_null,
  unreadable_root,
  without_descriptors,
  without_processes,
  cancelled,
  conditions,
};
static const char *const names[conditions] = {
    "plain",           "closed files",        "without null",      "a file for null", "another device for null",
    "unreadable root", "without descriptors", "without processes", "cancelled",
};

// Far from the descriptors that the conditions close.
enum { report = 200 };

static void enter_root(const char *root, enum condition condition) {
  char path[256];
  snprintf(path, sizeof path, "%s/dev", root);
  mkdir(path, 0755);
  strcat(path, "/null");
  if (condition == file_for_null) close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  if (condition == other_device_for_null) mknod(path, S_IFCHR | 0666, makedev(1, 5));
  if (condition == unreadable_root) {
    mknod(path, S_IFCHR | 0666, makedev(1, 3));
    chmod(path, 0666);
    chmod(root, 0700);
  }
  if (chroot(root) != 0) _exit(72);
  if (condition == unreadable_root && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(72);
}

static void prepare(enum condition condition, const char *root) {
  struct rlimit none = {0, 0};
  switch (condition) {
    case closed_files:
      for (int file = 0; file <= 2; file++) close(file);
      break;
    case without_null:
    case file_for_null:
    case other_device_for_null:
    case unreadable_root: enter_root(root, condition); break;
    case without_descriptors: setrlimit(RLIMIT_NOFILE, &none); break;
    case without_processes:
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(72);
      setrlimit(RLIMIT_NPROC, &none);
      break;
    case cancelled: pthread_cancel(pthread_self()); break;
    default: break;
  }
}

static void become(enum condition condition, int keeps_directory, int keeps_files, const char *root) {
  char text[512], directory[256] = "";
  struct stat files[3];
  pid_t before = getpid();
  prepare(condition, root);
  errno = 99;
  int result = functions.daemon(keeps_directory, keeps_files), error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  memset(files, 0, sizeof files);
  int used = 0;
  for (int file = 0; file <= 2; file++) {
    int is_open = fstat(file, &files[file]) == 0;
    used += snprintf(text + used, sizeof text - (size_t)used, "%s",
                     !is_open                                    ? " closed"
                     : files[file].st_rdev == makedev(1, 3)      ? " null"
                     : S_ISREG(files[file].st_mode)              ? " file"
                                                                 : " other");
  }
  int is_root = getcwd(directory, sizeof directory) && strcmp(directory, "/") == 0;
  dprintf(report, "daemon %s %d %d: %d %d,%s, in the root %d, another process %d, leads its session %d\n",
          names[condition], keeps_directory, keeps_files, result, error, text, is_root, getpid() != before,
          getsid(0) == getpid());
}

static void compare(enum condition condition, int keeps_directory, int keeps_files) {
  int pipes[2];
  char root[] = "/tmp/daemon-root-XXXXXX", text[1024];
  if (!mkdtemp(root) || pipe2(pipes, O_CLOEXEC) != 0) _exit(72);
  pid_t child = fork();
  if (child == 0) {
    dup3(pipes[1], report, O_CLOEXEC);
    become(condition, keeps_directory, keeps_files, root);
    _exit(5);
  }
  use_await(child, names[condition]);
  close(pipes[1]);
  ssize_t size;
  while ((size = read(pipes[0], text, sizeof text)) > 0) use_say("%.*s", (int)size, text);
  close(pipes[0]);
  strcpy(text, root);
  strcat(text, "/dev/null");
  unlink(text);
  *strrchr(text, '/') = 0;
  rmdir(text);
  rmdir(root);
}

void functions_compare_daemons(void) {
  for (int condition = plain; condition < conditions; condition++) {
    int needs_root = condition >= without_null && condition <= unreadable_root;
    if ((needs_root || condition == without_processes) && geteuid() != 0) continue;
    for (int way = 0; way < 4; way++) compare((enum condition)condition, way & 1, way >> 1);
  }
}
