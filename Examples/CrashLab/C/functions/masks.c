// Compares pthread_sigmask, sigprocmask and signalfd, with sets that contain no signal of a fault.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "functions.h"

static void set_kernels(uint64_t mask) { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask); }
static uint64_t kernels(void) {
  uint64_t mask = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
  return mask;
}

static sigset_t set_with(uint64_t word) {
  sigset_t set;
  sigemptyset(&set);
  memcpy(&set, &word, sizeof word);
  return set;
}

static const uint64_t words[] = {
    0,
    1ull << (SIGUSR1 - 1),
    1ull << (SIGABRT - 1) | 1ull << (SIGTERM - 1) | 1ull << 40,
    ~(USES_FAULTS | 3ull << 31),
    3ull << 31,
    1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1),
    // Nearly what a worker of libdispatch asks for.
    ~(USES_FAULTS | 3ull << 31 | 1ull << (SIGPIPE - 1) | 1ull << (SIGPROF - 1) | 1ull << (SIGUSR2 - 1)),
};
enum { sets = sizeof words / sizeof *words, hows = 5, places = 5 };
static const int operations[hows] = {SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK, 77, -1};

static void compare(int function, int how, int word, int place, uint64_t before) {
  // The last set is none at all.
  sigset_t given = set_with(word < sets ? words[word] : 0), old = set_with(0x1234);
  const sigset_t *set = word < sets ? &given : NULL;
  sigset_t *to = place == 0   ? NULL
                 : place == 1 ? &old
                 : place == 2 ? &given
                 : place == 3 ? functions_nowhere
                              : functions_read_only;
  set_kernels(before);
  errno = 99;
  int result = (function ? functions.sigprocmask : functions.pthread_sigmask)(operations[how], set, to);
  int error = errno;
  uint64_t after = kernels();
  set_kernels(0);
  use_say("mask %d how %d set %d old %d from %llx: %d %d, %016llx %016llx now %016llx\n", function, how, word, place,
          (unsigned long long)before, result, error, (unsigned long long)use_word(&given),
          (unsigned long long)use_word(&old), (unsigned long long)after);
}

static void pass_nowhere(const void *which) {
  int result = *(const int *)which ? functions.sigprocmask(SIG_BLOCK, functions_nowhere, NULL)
                                   : functions.pthread_sigmask(SIG_BLOCK, functions_nowhere, NULL);
  use_say("passed nowhere: %d\n", result);
}

static void compare_signalfd(int file, const sigset_t *set, const char *name, int flags) {
  errno = 99;
  int result = functions.signalfd(file, set, flags);
  use_say("signalfd %s flags %x: %d %d", name, (unsigned)flags, result < 0 ? -1 : file < 0 ? 0 : result == file,
          errno);
  if (result >= 0) {
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", result);
    FILE *information = fopen(path, "re");
    while (information && fgets(line, sizeof line, information))
      if (strncmp(line, "sigmask:", 8) == 0) use_say(" %.*s", (int)strcspn(line, "\n"), line);
    if (information) fclose(information);
    use_say(" flags %x %x", (unsigned)fcntl(result, F_GETFD), (unsigned)fcntl(result, F_GETFL));
    if (result != file) close(result);
  }
  use_say("\n");
}

void functions_compare_masks(void) {
  for (int function = 0; function < 2; function++) {
    for (int how = 0; how < hows; how++)
      for (int word = 0; word <= sets; word++)
        for (int place = 0; place < places; place++) {
          // `given` is also where the old mask goes.
          compare(function, how, word, place, 0);
          compare(function, how, word, place, 1ull << (SIGABRT - 1) | 1ull << (SIGUSR2 - 1));
        }
    functions_in_child("nowhere", pass_nowhere, &function);
  }
  sigset_t one = set_with(words[1]), several = set_with(words[2]), all = set_with(~0ull);
  int existing = signalfd(-1, &one, SFD_CLOEXEC);
  int flags[] = {0, SFD_CLOEXEC, SFD_NONBLOCK | SFD_CLOEXEC, 77};
  for (int index = 0; index < 4; index++) {
    compare_signalfd(-1, &one, "one", flags[index]);
    compare_signalfd(-1, &several, "several", flags[index]);
    compare_signalfd(-1, &all, "all", flags[index]);
    compare_signalfd(existing, &several, "of another", flags[index]);
    compare_signalfd(0, &one, "of a file", flags[index]);
    compare_signalfd(999, &one, "of nothing", flags[index]);
    compare_signalfd(-1, NULL, "none", flags[index]);
    compare_signalfd(-1, functions_nowhere, "nowhere", flags[index]);
  }
  use_say("mask after all: %016llx\n", (unsigned long long)kernels());
}
