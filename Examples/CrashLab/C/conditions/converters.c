// Converters that examine the database while this process, whose files are in it, is alive. Source:
// pid_namespaces(7), time_namespaces(7).
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

static void check(long result, const char *call) {
  if (result >= 0) return;
  fprintf(stderr, "crash-lab: %s: %s\n", call, strerror(errno));
  exit(70);
}

// Runs `crash-lab process` through another command, and waits for it.
static void convert(const char *database, const char *const wrapper[]) {
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  check(length, "readlink");
  self[length] = 0;
  const char *words[16];
  int count = 0;
  while (wrapper[count] != NULL) {
    words[count] = wrapper[count];
    count++;
  }
  const char *command[] = {self, "process", "--database", database, "--no-symbols", NULL};
  memcpy(words + count, command, sizeof command);
  pid_t child = fork();
  check(child, "fork");
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    execv(words[0], (char *const *)words);
    _exit(127);
  }
  int status = -1;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  if (status == 0) return;
  fprintf(stderr, "crash-lab: the converter ended with status 0x%x\n", status);
  exit(70);
}

void condition_converted_elsewhere(const char *database) {
  check(close_range(3, ~0U, 0), "close_range");
  if (database == NULL) return;
  const char *const wrapper[] = {"/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc", NULL};
  convert(database, wrapper);
}

void condition_converted_in_another_time(const char *database) {
  if (database == NULL) return;
  const char *const wrapper[] = {"/usr/bin/unshare", "--time", "--boottime", "1000000", "--fork", NULL};
  convert(database, wrapper);
}

// Changes the run record as if its owner had run before the machine booted.
static void spoil_boot(int file) {
  static char bytes[65536];
  char boot[64];
  int source = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  check(source, "boot_id");
  if (read(source, boot, 36) != 36) check(-1, "boot_id");
  close(source);
  ssize_t size = read(file, bytes, sizeof bytes);
  check(size, "run record");
  char *place = memmem(bytes, (size_t)size, boot, 36);
  if (place == NULL) {
    fprintf(stderr, "crash-lab: a run record without the boot ID\n");
    exit(70);
  }
  check(pwrite(file, "00000000", 8, place - bytes), "pwrite");
}

// Removes the proofs that this process lives: its end of the FIFO, and the mapping of its run
// record. Other memory is mapped in its place, because the handler unmaps it when it creates its
// files again.
static void lose_witnesses(void) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) check(-1, "maps");
  char line[8192];
  unsigned long start = 0, end = 0;
  while (start == 0 && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, ".run\n") == NULL || sscanf(line, "%lx-%lx", &start, &end) != 2) start = 0;
  fclose(maps);
  if (start != 0) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    void *instead = mmap((void *)start, end - start, PROT_NONE, flags, -1, 0);
    if (instead == MAP_FAILED) check(-1, "mmap");
  }
  check(close_range(3, ~0U, 0), "close_range");
}

void condition_taken_for_dead(const char *database) {
  if (database == NULL) return;
  lose_witnesses();
  char path[4096];
  snprintf(path, sizeof path, "%s/pending-serialized-dumps", database);
  DIR *directory = opendir(path);
  if (directory == NULL) check(-1, path);
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".run") != 0) continue;
    int file = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC);
    check(file, entry->d_name);
    spoil_boot(file);
    close(file);
  }
  closedir(directory);
  const char *const wrapper[] = {"/usr/bin/env", NULL};
  convert(database, wrapper);
}
