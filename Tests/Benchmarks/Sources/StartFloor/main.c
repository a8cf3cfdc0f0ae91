// The minimum that any crash handler in a process has to request from the kernel at its start: a
// directory with a FIFO that the process holds, a record, a file with preallocated blocks, memory,
// an alternate stack, and the actions of twelve signals. It does nothing else: it reads nothing of
// the process or the machine, checks nothing, and could not handle a crash. Prints nanoseconds of
// CPU time.
//
//   start-floor DIRECTORY
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 256 << 10, MEMORY = 16 << 20, STACK = 64 << 10, RECORD = 1024, TOUCHED_PAGES = 16, PAGE = 4096 };

static const int signals[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,
                              SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS,  SIGTERM, SIGPIPE};

static int64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void handle(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
}

static void check(int succeeds, const char *what) {
  if (succeeds) return;
  perror(what);
  exit(1);
}

// Creates a file and returns its descriptor.
static int create(int directory, const char *name) {
  int file = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  check(file >= 0, name);
  return file;
}

static void make_files(const char *path) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check(directory >= 0, path);
  check(mkfifoat(directory, "fifo", 0600) == 0, "mkfifo");
  check(openat(directory, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC) >= 0, "fifo");
  static const char record[RECORD];
  check(write(create(directory, "record"), record, sizeof record) == sizeof record, "write");
  // The result is ignored, because some file systems cannot preallocate blocks.
  (void)!fallocate(create(directory, "dump"), FALLOC_FL_KEEP_SIZE, 0, BLOCKS);
}

static void make_memory(void) {
  char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "mmap");
  for (int page = 0; page < TOUCHED_PAGES; page++) memory[page * PAGE] = 1;
  stack_t stack = {.ss_sp = memory + MEMORY - STACK, .ss_size = STACK};
  check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
}

static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (unsigned index = 0; index < sizeof signals / sizeof signals[0]; index++)
    check(sigaction(signals[index], &action, NULL) == 0, "sigaction");
}

static void remove_files(const char *path) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const char *names[] = {"fifo", "record", "dump"};
  for (int index = 0; index < 3; index++) unlinkat(directory, names[index], 0);
}

int main(int count, char **arguments) {
  if (count != 2) return 64;
  // The first call binds the function before it is measured.
  processor_time();
  int64_t begin = processor_time();
  make_files(arguments[1]);
  make_memory();
  install();
  printf("%lld\n", (long long)(processor_time() - begin));
  remove_files(arguments[1]);
  return 0;
}
