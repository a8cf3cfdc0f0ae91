// Privileges and system calls that a process gives up. Source: seccomp(2), setresuid(2), chroot(2).
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"

static void check(long result, const char *call) {
  if (result >= 0) return;
  fprintf(stderr, "crash-lab: %s: %s\n", call, strerror(errno));
  exit(70);
}

void condition_drop_user(void) {
  check(setgroups(0, NULL), "setgroups");
  check(setresgid(65534, 65534, 65534), "setresgid");
  check(setresuid(65534, 65534, 65534), "setresuid");
}

void condition_change_root(void) {
  // The new root is an empty directory that is already removed, so the crash leaves no directory behind.
  char path[] = "/tmp/crash-lab-root-XXXXXX";
  if (!mkdtemp(path)) check(-1, "mkdtemp");
  check(chdir(path), "chdir");
  check(rmdir(path), "rmdir");
  check(chroot("."), "chroot");
}

void condition_not_dumpable(void) { check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl"); }

// System calls without which the handler still works, by the name of their `CallGroup`.
enum { CALLS_IN_GROUP = 28 };
static const struct call_group {
  const char *name;
  int count;
  unsigned numbers[CALLS_IN_GROUP];
} groups[] = {
    {"files", 27, {SYS_openat, SYS_close, SYS_close_range, SYS_fstat, SYS_newfstatat, SYS_lseek, SYS_ftruncate, SYS_fallocate, SYS_mknodat,
                   SYS_mkdirat, SYS_renameat2, SYS_unlinkat, SYS_fchown, SYS_fcntl, SYS_pwrite64, SYS_getrandom, SYS_unshare, SYS_prlimit64,
                   SYS_madvise, SYS_munmap, SYS_read, SYS_getdents64, SYS_readlinkat, SYS_pread64, SYS_getppid, SYS_getrusage,
                   SYS_clock_gettime}},
    {"proc", 7, {SYS_read, SYS_getdents64, SYS_readlinkat, SYS_pread64, SYS_getppid, SYS_getrusage, SYS_clock_gettime}},
    {"threads", 4, {SYS_tgkill, SYS_sigaltstack, SYS_timer_create, SYS_timer_settime}},
    {"memory", 1, {SYS_process_vm_readv}},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static void install_program(struct sock_filter *program, int length) {
  struct sock_fprog whole = {(unsigned short)length, program};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole), "seccomp");
}

// True for a system call that the filter of a group, or for NULL of all groups, affects. The filter
// of all groups allows newfstatat: it replaces fstat, and without both the handler cannot identify
// its own files.
static bool is_filtered(const char *name, const struct call_group *group, int index) {
  return name ? strcmp(group->name, name) == 0 : group->numbers[index] != SYS_newfstatat;
}

// Installs a filter with one comparison for each number, followed by the action.
static void install(const char *name, unsigned action) {
  struct sock_filter program[GROUPS * CALLS_IN_GROUP + 3];
  int length = 0, comparisons = 0;
  for (int i = 0; i < GROUPS; i++)
    for (int j = 0; j < groups[i].count; j++) comparisons += is_filtered(name, &groups[i], j);
  program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < GROUPS; i++) {
    for (int j = 0; j < groups[i].count; j++) {
      if (!is_filtered(name, &groups[i], j)) continue;
      unsigned char distance = (unsigned char)(comparisons + 1 - length);
      program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, groups[i].numbers[j], distance, 0);
    }
  }
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  install_program(program, length);
}

void condition_fail_signal_actions(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install_program(program, sizeof program / sizeof *program);
}

static const struct {
  const char *name;
  unsigned action;
} answers[] = {
    {"error", SECCOMP_RET_ERRNO | EPERM},      {"trap", SECCOMP_RET_TRAP},
    {"kill", SECCOMP_RET_KILL_PROCESS},        {"kill-thread", SECCOMP_RET_KILL_THREAD},
    {"notification", SECCOMP_RET_USER_NOTIF}, {"log", SECCOMP_RET_LOG},
};

static atomic_int listener = -1;
static atomic_bool serves = false;

// Lets each call of which the filter notifies continue. A Linux before 5.5 cannot do that.
static void *serve_notifications(void *argument) {
  serves = true;
  while (listener < 0) usleep(100);
  for (;;) {
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  return argument;
}

void condition_filter_calls(void) {
  const char *wanted = getenv("CRASHLAB_FILTER");
  const char *colon = wanted ? strchr(wanted, ':') : NULL;
  unsigned action = 0;
  bool is_known = false;
  for (size_t i = 0; colon && i < sizeof answers / sizeof *answers; i++) {
    size_t length = strlen(answers[i].name);
    if ((size_t)(colon - wanted) != length || memcmp(wanted, answers[i].name, length) != 0) continue;
    action = answers[i].action;
    is_known = true;
  }
  if (!is_known) {
    errno = EINVAL;
    check(-1, "CRASHLAB_FILTER");
  }
  enum { capacity = 100 };
  struct sock_filter program[2 * capacity + 2];
  int length = 0;
  program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (const char *place = colon; place && length < 2 * capacity; place = strchr(place + 1, ',')) {
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(place + 1), 0, 1);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  }
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  if (action != SECCOMP_RET_USER_NOTIF) {
    install_program(program, length);
    return;
  }
  pthread_t server;
  if (pthread_create(&server, NULL, serve_notifications, NULL) != 0) check(-1, "pthread_create");
  while (!serves) usleep(100);
  struct sock_fprog whole = {(unsigned short)length, program};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  long file = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_NEW_LISTENER,
                      &whole);
  check(file, "seccomp");
  listener = (int)file;
}

static void wait_for(unsigned seconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += seconds;
  // The handler's signals interrupt the sleep.
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
}

static void *exit_later(void *argument) {
  wait_for(2);
  exit(7);
  return argument;
}

static void *exit_at_last(void *argument) {
  wait_for(8);
  syscall(SYS_exit_group, 8);
  return argument;
}

void condition_exit_later(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, exit_later, NULL) != 0) check(-1, "pthread_create");
  if (pthread_create(&thread, NULL, exit_at_last, NULL) != 0) check(-1, "pthread_create");
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *argument) {
  (void)size;
  uint64_t *range = argument, address = (uint64_t)&fork;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD || address - start >= info->dlpi_phdr[i].p_memsz) continue;
    range[0] = start;
    range[1] = info->dlpi_phdr[i].p_memsz;
    return 1;
  }
  return 0;
}

void condition_dispatch_calls(bool but_libc) {
  static volatile char selector = 1;  // SYSCALL_DISPATCH_FILTER_BLOCK
  uint64_t range[2] = {0, 0};
  if (but_libc) dl_iterate_phdr(find_libc, range);
  check(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, range[0], range[1], &selector), "prctl");
}

void condition_kill_on_calls(const char *group) { install(group, SECCOMP_RET_KILL_PROCESS); }

void condition_fail_calls(int error) { install(NULL, SECCOMP_RET_ERRNO | (unsigned)error); }

static void refuse(const unsigned *numbers, int count, int error) {
  struct sock_filter program[CALLS_IN_GROUP + 3];
  int length = 0;
  program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; i++) {
    unsigned char distance = (unsigned char)(count - i);
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], distance, 0);
  }
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
  install_program(program, length);
}

void condition_refuse_opens(void) { refuse((unsigned[]){SYS_openat}, 1, EACCES); }

void condition_refuse_special_files(void) {
  refuse((unsigned[]){SYS_mknodat, SYS_linkat, SYS_fchmod, SYS_fchmodat}, 4, EPERM);
}

void condition_refuse_names(void) { refuse((unsigned[]){SYS_renameat2, SYS_unlinkat}, 2, EACCES); }

// The numbers and structures of landlock(7), which older headers lack.
void condition_close_proc(void) {
  enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, READ_FILE = 1 << 2, READ_DIRECTORY = 1 << 3 };
  unsigned long long handled = READ_FILE | READ_DIRECTORY;
  int rules = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);
  check(rules, "landlock_create_ruleset");
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  check(syscall(RESTRICT_SELF, rules, 0), "landlock_restrict_self");
  close(rules);
}
