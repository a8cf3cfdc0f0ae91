// The programs of the truth table that crash in C; their numbers are those of the table.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

// 43: a library of C that calls back.
static void (*callback)(void *);
static void *callback_context;

void crashlab_set_callback(void (*function)(void *), void *context) {
  callback = function;
  callback_context = context;
}

__attribute__((noinline)) void crashlab_run_callback(void) {
  callback(callback_context);
  __asm__ volatile("");
}

// 44: a structure that looks like the beginning of a Swift object.
struct cache_entry {
  uintptr_t type;
  uint64_t uses;
  int *value;
};

__attribute__((noinline)) void crash_cache_entry(uintptr_t type) {
  struct cache_entry *entry = malloc(sizeof *entry);
  entry->type = type;
  entry->uses = 3;
  entry->value = crashlab_address(0x18);
  __asm__ volatile("" : : "r"(entry) : "memory");
  *entry->value = (int)entry->uses;
  __asm__ volatile("" : : "r"(entry));
}

// 47: a copy that is too long. A short one ends in the return address, which stays a possible address.
__attribute__((noinline, no_stack_protector)) void crash_copy_name(bool is_short) {
  char copy[16];
  char name[256];
  size_t distance = (size_t)((char *)__builtin_frame_address(0) + sizeof(void *) - copy);
  memset(name, 'E', sizeof name);
  name[distance + (is_short ? 4 : sizeof(void *))] = 0;
  char *volatile target = copy;
  strcpy(target, name);
  __asm__ volatile("" : : "r"(target) : "memory");
}

// 49: addresses that no null pointer explains.
__attribute__((noinline)) void crash_write_register(void) {
  *(volatile int *)65000 = 1;
}

long crashlab_far_index(void) { return (long)(uintptr_t)crashlab_address((uintptr_t)1 << 40); }

__attribute__((noinline)) void crash_read_table(long index) {
  int *table = malloc(64 * sizeof *table);
  volatile int *volatile entry = table;
  (void)entry[index];
}

__attribute__((noinline)) void crash_read_table_at(uintptr_t address) {
  char *table = malloc(64);
  long index = (long)(address - (uintptr_t)table);
  __asm__ volatile("" : "+r"(index), "+r"(table));
  (void)*(volatile char *)(table + index);
}

// 51: a handler like Python's faulthandler.
static struct sigaction previous[65];
static const char *way;

static void pass_on_with_info(int number, siginfo_t *information, void *context) {
  if (strcmp(way, "call") == 0) {
    previous[number].sa_sigaction(number, information, context);
    return;
  }
  sigaction(number, &previous[number], NULL);
  if (strcmp(way, "queue") == 0) {
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, information);
  } else {
    raise(number);
  }
}

static void pass_on(int number) {
  sigaction(number, &previous[number], NULL);
  kill(getpid(), number);
}

void crashlab_handle_first(const char *how, bool alternate) {
  way = how;
  struct sigaction action = {.sa_flags = alternate ? SA_ONSTACK : 0};
  if (strcmp(how, "kill") == 0) {
    action.sa_handler = pass_on;
  } else {
    action.sa_sigaction = pass_on_with_info;
    action.sa_flags |= SA_SIGINFO;
  }
  // The signal of "pending" is blocked until the handler returns.
  if (strcmp(how, "raise") == 0 || strcmp(how, "queue") == 0) action.sa_flags |= SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous[SIGSEGV]);
}

struct request {
  int length;
  int *body;
};

__attribute__((noinline)) static int parse_request(struct request *request) {
  return request->body[request->length];
}

__attribute__((noinline)) void crash_serve_request(void) {
  struct request request = {.length = 6};
  parse_request(&request);
  __asm__ volatile("");
}

// 52: a handler of the program that uses a null pointer.
static int *volatile settings;

static void reload_settings(int number) { settings[number] = 1; }

__attribute__((noinline)) static void serve_until_reload(void) {
  raise(SIGUSR1);
  __asm__ volatile("");
}

void crash_reload_in_handler(void) {
  struct sigaction action = {.sa_handler = reload_settings, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  serve_until_reload();
  __asm__ volatile("");
}

// 55: another thread, like the thread of an event loop.
static void *run_on_loop(void *body) {
  ((void (*)(void))body)();
  return NULL;
}

void crashlab_on_loop(void (*body)(void)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run_on_loop, (void *)body);
  pthread_join(thread, NULL);
}

// Waits that are not in the table.

static pthread_mutex_t inheriting[2];
static pthread_barrier_t both;

static void *take_in_order(void *order) {
  long first = (long)order;
  pthread_mutex_lock(&inheriting[first]);
  pthread_barrier_wait(&both);
  crashlab_take_inheriting(1 - (int)first);
  return NULL;
}

__attribute__((noinline)) void crashlab_take_inheriting(int index) {
  pthread_mutex_lock(&inheriting[index]);
  __asm__ volatile("");
}

static void make_inheriting(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  for (int i = 0; i < 2; i++) pthread_mutex_init(&inheriting[i], &attributes);
}

void crashlab_cross_inheriting(void) {
  make_inheriting();
  pthread_barrier_init(&both, NULL, 2);
  for (long i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, take_in_order, (void *)i);
  }
  usleep(300000);
}

static void *take_twice(void *unused) {
  (void)unused;
  pthread_mutex_lock(&inheriting[0]);
  crashlab_take_inheriting(0);
  return NULL;
}

void crashlab_take_inheriting_twice(void) {
  make_inheriting();
  pthread_t thread;
  pthread_create(&thread, NULL, take_twice, NULL);
  usleep(300000);
}

int crashlab_fork_stopped(void) {
  pid_t child = crashlab_fork_idle();
  kill(child, SIGSTOP);
  int status;
  waitpid(child, &status, WUNTRACED);
  return child;
}
