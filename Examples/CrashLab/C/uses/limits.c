// Resource limits.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static void limit(int resource, rlim_t soft) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  limit.rlim_cur = soft;
  if (setrlimit(resource, &limit) != 0) _exit(86);
}
static int file_in_memory(void) { return memfd_create("limited", MFD_CLOEXEC); }

static void note(int signal, siginfo_t *information, void *context) {
  (void)context;
  use_say("handler of %d, code %d\n", signal, information->si_code);
}
static void before_note(void) {
  use_handle(SIGXFSZ, note, 0);
  use_handle(SIGXCPU, note, 0);
}

static void write_beyond(int file) {
  errno = 0;
  ssize_t size = pwrite(file, "12345678", 8, 4092);
  use_say("partly: %zd %d\n", size, size < 0 ? errno : 0);
  errno = 0;
  size = pwrite(file, "12345678", 8, 4096);
  use_say("beyond: %zd %d\n", size, size < 0 ? errno : 0);
  use_say("truncated: %d\n", ftruncate(file, 8192));
}
static void write_handled(void) {
  limit(RLIMIT_FSIZE, 4096);
  write_beyond(file_in_memory());
}
static void write_ignored(void) {
  signal(SIGXFSZ, SIG_IGN);
  write_handled();
}
static void write_blocked(void) {
  use_block(SIGXFSZ, 0);
  write_handled();
  use_tell("pending");
}
static void write_and_end(void) {
  limit(RLIMIT_FSIZE, 4096);
  write_beyond(file_in_memory());
}
static void write_in_child(void) { use_in_child("child", write_and_end); }

static void spin(void) {
  for (volatile int spins = 0;; spins++) {
  }
}
static volatile int is_over;
static void stop_spinning(int signal, siginfo_t *information, void *context) {
  note(signal, information, context);
  is_over = 1;
}
static void before_processor_limit(void) { use_handle(SIGXCPU, stop_spinning, 0); }
static void use_processor_handled(void) {
  limit(RLIMIT_CPU, 1);
  while (!is_over) {
  }
  limit(RLIMIT_CPU, RLIM_INFINITY);
}
static void use_processor(void) {
  limit(RLIMIT_CPU, 1);
  spin();
}

static void use_address_space(void) {
  limit(RLIMIT_AS, (rlim_t)1 << 34);
  void *memory = mmap(NULL, (size_t)1 << 35, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  use_say("mapped: %d %d\n", memory != MAP_FAILED, memory == MAP_FAILED ? errno : 0);
  void *block = malloc((size_t)1 << 35);
  use_say("allocated: %d\n", block != NULL);
  free(block);
}

static void *come_and_go(void *argument) { return argument; }
static void make_threads_limited(void) {
  limit(RLIMIT_NOFILE, 3);
  for (int index = 0; index < 20; index++) pthread_join(use_start(come_and_go, NULL), NULL);
  use_say("open: %d\n", open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0);
  use_in_child("child", abort);
  crash_null_call();
}

// A core limit and a stack limit are passed on as they are.
static void keep_limits(void) {
  int resources[] = {RLIMIT_CORE, RLIMIT_STACK, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_AS,
                     RLIMIT_DATA, RLIMIT_CPU, RLIMIT_MEMLOCK, RLIMIT_SIGPENDING};
  for (int index = 0; index < 10; index++) {
    struct rlimit limit;
    getrlimit(resources[index], &limit);
    use_say("%d: %lld %lld\n", resources[index], (long long)limit.rlim_cur, (long long)limit.rlim_max);
  }
}

// The queue of signals is full: kill still works, sigqueue does not.
static void fill_queue(void) {
  use_block(SIGRTMIN, SIGABRT, SIGUSR1, 0);
  limit(RLIMIT_SIGPENDING, 0);
  errno = 0;
  int result = sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1});
  use_say("sigqueue: %d %d\n", result, result == 0 ? 0 : errno);
  raise(SIGABRT);
  use_send(SIGUSR1);
  use_tell("sent");
  sigset_t set = use_set(SIGABRT, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  use_say("came back\n");
}
static void abort_with_full_queue(void) {
  limit(RLIMIT_SIGPENDING, 0);
  use_block(SIGABRT, 0);
  abort();
}

static void *abort_there(void *argument) {
  abort();
  return argument;
}
static void fail_to_lock(void) {
  mlockall(MCL_CURRENT | MCL_FUTURE);
  pthread_join(use_start(abort_there, NULL), NULL);
}

const struct use uses_of_limits[] = {
    {"limits-file-handled", before_note, write_handled},
    {"limits-file-ignored", NULL, write_ignored},
    {"limits-file-blocked", NULL, write_blocked},
    {"limits-file", NULL, write_and_end},
    {"limits-file-child", NULL, write_in_child},
    {"limits-processor-handled", before_processor_limit, use_processor_handled},
    {"limits-processor", NULL, use_processor},
    {"limits-address-space", NULL, use_address_space},
    {"limits-files", NULL, make_threads_limited},
    {"limits-kept", NULL, keep_limits},
    {"limits-queue", NULL, fill_queue},
    {"limits-queue-abort", NULL, abort_with_full_queue},
    {"limits-locked", NULL, fail_to_lock},
    {NULL, NULL, NULL},
};
