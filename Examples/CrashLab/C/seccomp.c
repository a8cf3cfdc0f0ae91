// System calls that a seccomp filter traps or never answers. Source: seccomp(2).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"

// Sets a filter for a system call in the calling thread, and returns the result of seccomp(2).
static int filter(unsigned call, unsigned action, unsigned flags) {
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

// The kernel waits for an answer about the thread's calls of fsync, which nobody gives: the disk never answers.
int crashlab_stop_disk(void) {
  return filter(SYS_fsync, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

__attribute__((noinline)) void crash_seccomp(void) {
  if (filter(SYS_acct, SECCOMP_RET_TRAP, 0) != 0) return;
  syscall(SYS_acct, NULL);
  __asm__ volatile("");
}
