// Blocks signals in ways that conditions and probes need.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"

void crashlab_block_all(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
}

void crashlab_block_by_kernel(int signal) {
  uint64_t bit = 1ull << (signal - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, sizeof bit);
}

static void do_nothing(int signal) { (void)signal; }

void crashlab_handle_blocking(int signal, int blocked) {
  struct sigaction action = {.sa_handler = do_nothing};
  sigaddset(&action.sa_mask, blocked);
  sigaction(signal, &action, NULL);
}
