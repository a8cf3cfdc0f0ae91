// Threads that are hard to stop.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "CCrashLab.h"

static crashlab_body held_body;
static void *held_context;

static pthread_t start(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) abort();
  return thread;
}

enum { crowd = 64 };
static pthread_barrier_t barrier;

static void *crash_in_crowd(void *argument) {
  (void)argument;
  pthread_barrier_wait(&barrier);
  held_body(held_context);
  return NULL;
}

void condition_at_once(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
  pthread_barrier_init(&barrier, NULL, crowd);
  pthread_t threads[crowd];
  for (int index = 0; index < crowd; index++) threads[index] = start(crash_in_crowd, NULL);
  for (int index = 0; index < crowd; index++) pthread_join(threads[index], NULL);
}

static atomic_int crashes;

static void block_all_but_faults(void) {
  sigset_t signals;
  sigfillset(&signals);
  int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE};
  for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigdelset(&signals, faults[index]);
  pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

// Blocks the signals that would stop this thread, and crashes a moment after the other thread.
static void *crash_second(void *argument) {
  (void)argument;
  block_all_but_faults();
  while (atomic_load(&crashes) == 0) {
  }
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 300000);
  held_body(held_context);
  return NULL;
}

void condition_second_crash(crashlab_body body, void *context) {
  held_body = body;
  held_context = context;
  pthread_t thread = start(crash_second, NULL);
  atomic_store(&crashes, 1);
  body(context);
  pthread_join(thread, NULL);
}

static void *sleep_deaf(void *ready) {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_SETMASK, &signals, NULL);
  crashlab_name_thread("deaf");
  pthread_barrier_wait(ready);
  for (;;) pause();
  return NULL;
}

// Blocks all signals, including libc's own two, which libc does not let a program block.
static void *sleep_closed(void *ready) {
  uint64_t all = UINT64_MAX;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
  crashlab_name_thread("closed");
  pthread_barrier_wait(ready);
  for (;;) pause();
  return NULL;
}

void condition_deaf_threads(void) {
  // The barrier is static, because threads may still be leaving it after this function has
  // returned.
  static pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 5);
  for (int index = 0; index < 4; index++) start(index < 2 ? sleep_deaf : sleep_closed, &ready);
  pthread_barrier_wait(&ready);
}

static atomic_int starved;

// libc blocks all 64 signals in a new thread until it runs for the first time, which can take long
// on a busy processor.
static void *work_blocked(void *argument) {
  (void)argument;
  crashlab_name_thread("starved");
  uint64_t all = UINT64_MAX, before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  const int64_t start = time.tv_sec * 1000000000L + time.tv_nsec;
  atomic_store(&starved, 1);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  while (time.tv_sec * 1000000000L + time.tv_nsec - start < 40000000L);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
  for (;;) pause();
  return NULL;
}

void condition_starved_thread(void) {
  start(work_blocked, NULL);
  while (atomic_load(&starved) == 0) usleep(100);
}

static atomic_int vforked;

// The parent is in an uninterruptible wait until its child ends; the child ends with the thread, or after ten seconds.
static void *wait_for_vfork(void *argument) {
  (void)argument;
  crashlab_name_thread("vfork-parent");
  pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    atomic_store(&vforked, 1);
    struct timespec time = {10, 0};
    syscall(SYS_nanosleep, &time, NULL);
    _exit(0);
  }
  return NULL;
}

void condition_vfork_parent(void) {
  start(wait_for_vfork, NULL);
  while (atomic_load(&vforked) == 0) usleep(100);
}

static atomic_int traced;

static void *be_traced(void *argument) {
  (void)argument;
  crashlab_name_thread("traced");
  atomic_store(&traced, (int)syscall(SYS_gettid));
  for (;;) pause();
  return NULL;
}

// Makes a thread that a tracer has stopped, as a debugger or a sampling profiler does for a while.
void condition_traced_thread(void) {
  start(be_traced, NULL);
  while (atomic_load(&traced) == 0) usleep(100);
  int ready[2];
  if (pipe(ready) != 0) abort();
  pid_t tracer = fork();
  if (tracer == -1) abort();
  if (tracer == 0) {
    pid_t thread = atomic_load(&traced);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ptrace(PTRACE_SEIZE, thread, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0)
      waitpid(thread, NULL, __WALL);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    // Collects the end of the thread, as a debugger does: execve(2) in the process waits for that.
    alarm(30);
    waitpid(thread, NULL, __WALL);
    _exit(0);
  }
  char byte;
  if (read(ready[0], &byte, 1) != 1) abort();
  close(ready[0]);
  close(ready[1]);
}

static void *end_at_once(void *argument) { return argument; }

static void *spawn_endlessly(void *argument) {
  (void)argument;
  for (;;) pthread_join(start(end_at_once, NULL), NULL);
  return NULL;
}

void condition_thread_churn(void) {
  for (int index = 0; index < 4; index++) start(spawn_endlessly, NULL);
}

static void *spin(void *argument) {
  (void)argument;
  crashlab_name_thread("spinning");
  for (volatile unsigned long turns = 0;; turns++) {
  }
  return NULL;
}

void condition_spinning_threads(void) {
  for (int index = 0; index < 4; index++) start(spin, NULL);
}

// Makes the system call without libc, which stores errno in the thread control block.
static inline void point_thread_base_nowhere(void) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_arch_prctl), "D"((long)ARCH_SET_FS), "S"(0x123456789000L)
                   : "rcx", "r11", "memory");
#else
  __asm__ volatile("msr tpidr_el0, %0" : : "r"(0x123456789000L));
#endif
}

void condition_with_bad_thread_base(crashlab_body body, void *context) {
  point_thread_base_nowhere();
  body(context);
}

static atomic_int lost;

static void *spin_lost(void *argument) {
  crashlab_name_thread("lost");
  point_thread_base_nowhere();
  atomic_store(&lost, 1);
  for (;;) {
  }
  return argument;
}

void condition_bad_thread_base_beside(void) {
  start(spin_lost, NULL);
  while (atomic_load(&lost) == 0) usleep(100);
}

static atomic_int thief;

static int open_program_file(void) {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_SETMASK, &signals, NULL);
  crashlab_name_thread("thief");
  // Opens its own files at high numbers, outside the range that it steals.
  int low = open("program-file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int file = fcntl(low, F_DUPFD_CLOEXEC, 200);
  if (file < 0) abort();
  close(low);
  return file;
}

static void *steal_endlessly(void *argument) {
  int file = open_program_file();
  for (;;) {
    // Closes the descriptors at once, so that the next opened file gets one of these numbers, too.
    for (int descriptor = 3; descriptor < 16; descriptor++) {
      dup3(file, descriptor, O_CLOEXEC);
      close(descriptor);
    }
    atomic_store(&thief, 1);
  }
  return argument;
}

void condition_stealing_thread(void) {
  start(steal_endlessly, NULL);
  while (atomic_load(&thief) == 0) usleep(100);
}

// Finds the only locked file; false if there is none yet.
static int find_dump(const char *directory, struct stat *status) {
  DIR *entries = opendir(directory);
  if (!entries) return 0;
  int found = 0;
  for (struct dirent *entry; (entry = readdir(entries)) && !found;) {
    const char *dot = strrchr(entry->d_name, '.');
    if (dot && strcmp(dot, ".locked") == 0) found = fstatat(dirfd(entries), entry->d_name, status, 0) == 0;
  }
  closedir(entries);
  return found;
}

static void *steal_dump(void *argument) {
  char directory[4096];
  snprintf(directory, sizeof directory, "%s/pending-serialized-dumps", (const char *)argument);
  int file = open_program_file();
  struct stat dump, status;
  int is_there = find_dump(directory, &dump), descriptor = -1;
  for (int number = 3; is_there && number < 64; number++)
    if (fstat(number, &status) == 0 && status.st_ino == dump.st_ino && status.st_dev == dump.st_dev) descriptor = number;
  atomic_store(&thief, 1);
  if (descriptor < 0) return NULL;
  while (fstat(descriptor, &status) == 0 && status.st_ino == dump.st_ino && status.st_size == 0) {
  }
  dup3(file, descriptor, O_CLOEXEC);
  for (;;) pause();
}

void condition_theft(const char *database) {
  if (database == NULL) return;
  start(steal_dump, strdup(database));
  while (atomic_load(&thief) == 0) usleep(100);
}

// Returns whether a locked dump has content.
static int has_dump(const char *directory) {
  DIR *entries = opendir(directory);
  int found = 0;
  if (entries == NULL) return 0;
  for (struct dirent *entry; !found && (entry = readdir(entries)) != NULL;) {
    struct stat status;
    found = strstr(entry->d_name, ".locked") != NULL && fstatat(dirfd(entries), entry->d_name, &status, 0) == 0 &&
            status.st_size > 0;
  }
  closedir(entries);
  return found;
}

static void *exit_meanwhile(void *directory) {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_SETMASK, &signals, NULL);
  while (!has_dump(directory)) usleep(50);
  exit(0);
}

void condition_exiting_thread(const char *database) {
  if (database == NULL) return;
  static char directory[4096];
  snprintf(directory, sizeof directory, "%s/pending-serialized-dumps", database);
  start(exit_meanwhile, directory);
}

static void end_thread(int signal) {
  (void)signal;
  syscall(SYS_exit, 0);
}

void condition_prepare_end_of_first_thread(void) {
  struct sigaction action = {.sa_handler = end_thread};
  sigaction(SIGUSR2, &action, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void condition_end_first_thread(void) {
  syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
  char line[512];
  do {
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || !fgets(line, sizeof line, file)) exit(70);
    fclose(file);
  } while (!strstr(line, ") Z"));
}
