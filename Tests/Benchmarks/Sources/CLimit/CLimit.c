#define _GNU_SOURCE
#include "CLimit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAXIMUM_THREADS = 8192, STOP_SIGNAL = 60 };

static _Atomic uint32_t stopped, released, started;
static uint64_t stack_pointers[MAXIMUM_THREADS];
static char buffer[1 << 17];
static int bytes_touched;

int64_t limit_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void futex_wait_while(_Atomic uint32_t *word, uint32_t value) {
  while (atomic_load(word) == value) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void on_stop(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information;
#if defined(__x86_64__)
  uint64_t pointer = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[15];
#else
  uint64_t pointer = ((ucontext_t *)context)->uc_mcontext.sp;
#endif
  uint32_t slot = atomic_fetch_add(&stopped, 1);
  if (slot < MAXIMUM_THREADS) stack_pointers[slot] = pointer;
  futex_wait_while(&released, 0);
}

static void *sleeper(void *argument) {
  volatile char *frame = __builtin_alloca(bytes_touched);
  for (int i = 0; i < bytes_touched; i += 512) frame[i] = 1;
  atomic_fetch_add(&started, 1);
  for (;;) pause();
  return argument;
}

int limit_start_threads(int count, int touched) {
  bytes_touched = touched < 512 ? 512 : touched;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, sleeper, NULL)) return -1;
  }
  while (atomic_load(&started) < (uint32_t)count) usleep(1000);
  usleep(20000);
  return 0;
}

static void *work(void *argument) {
  for (volatile uint64_t count = 0;;) count++;
  return argument;
}

int limit_start_busy_threads(int count) {
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) return -1;
  }
  return 0;
}

int limit_make_mappings(int count) {
  if (count == 0) return 0;
  // Adjacent mappings have different protections, so the kernel does not merge them.
  char *base = mmap(NULL, (size_t)count * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return -1;
  for (int i = 1; i < count; i += 2)
    if (mprotect(base + (size_t)i * 4096, 4096, PROT_READ | PROT_WRITE) != 0) return -1;
  return 0;
}

const char *limit_small_library(void) {
  static Dl_info information;
  return dladdr(dlsym(RTLD_DEFAULT, "_Block_copy"), &information) ? information.dli_fname : "";
}

int64_t limit_capture(int descriptor, int64_t file_bytes, int64_t *bytes) {
  // The handler preallocates its file at its start in the same way.
  if (fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, file_bytes) != 0) return -1;
  struct sigaction action = {0};
  action.sa_sigaction = on_stop;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(STOP_SIGNAL, &action, NULL);
  int64_t start = limit_now();
  int process = getpid(), self = (int)syscall(SYS_gettid);
  uint32_t sent = 0;
  int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
  for (long filled; (filled = syscall(SYS_getdents64, tasks, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < filled; at += *(unsigned short *)(buffer + at + 16)) {
      int thread = atoi(buffer + at + 19);
      if (thread > 0 && thread != self && syscall(SYS_tgkill, process, thread, STOP_SIGNAL) == 0) sent++;
    }
  close(tasks);
  while (atomic_load(&stopped) < sent) sched_yield();
  *bytes = 0;
  int64_t stack_bytes = file_bytes / (sent + 1);
  if (stack_bytes > (int64_t)sizeof buffer) stack_bytes = sizeof buffer;
  for (uint32_t i = 0; i < sent && i < MAXIMUM_THREADS; i++) {
    struct iovec local = {buffer, stack_bytes}, remote = {(void *)stack_pointers[i], stack_bytes};
    long copied = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (copied > 0) *bytes += write(descriptor, buffer, copied);
  }
  int maps = open("/proc/self/maps", O_RDONLY);
  for (long filled; (filled = read(maps, buffer, sizeof buffer)) > 0;) *bytes += write(descriptor, buffer, filled);
  close(maps);
  // The remaining bytes are written at the lowest cost: one copy, without reading anything first.
  while (*bytes < file_bytes) {
    int64_t left = file_bytes - *bytes;
    long written = write(descriptor, buffer, left < (int64_t)sizeof buffer ? left : (int64_t)sizeof buffer);
    if (written <= 0) return -1;
    *bytes += written;
  }
  int64_t end = limit_now();
  atomic_store(&released, 1);
  syscall(SYS_futex, &released, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
  return end - start;
}

int limit_spawn(const char *path, char *const *arguments, char *const *environment, const char *directory, int has_core) {
  pid_t child = fork();
  if (child != 0) return child;
  struct rlimit limit = {has_core ? RLIM_INFINITY : 0, has_core ? RLIM_INFINITY : 0};
  setrlimit(RLIMIT_CORE, &limit);
  int null = open("/dev/null", O_RDWR);
  if (chdir(directory) != 0) _exit(127);
  int errors = open("errors", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(null, 0), dup2(null, 1), dup2(errors, 2);
  execve(path, arguments, environment);
  _exit(127);
}

void limit_crash(volatile int64_t *instant) {
  *instant = limit_now();
  *(volatile int *)16 = 1;
}
