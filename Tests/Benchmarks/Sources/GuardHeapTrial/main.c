// Makes memory errors with every allocation sampled, each in a child process, and prints how many the heap detected and
// whether what it says of them is true.
//
//   GUARD_HEAP_RATE=1 guard-heap-trial bugs [TRIALS]
//   guard-heap-trial pairs LIBRARY           as guard-heap-pairs, with the heap linked instead of preloaded
#define _GNU_SOURCE
#include <CAllocationPairs.h>
#include <guard_heap.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KINDS(...) ((const unsigned char[]){__VA_ARGS__, 0})

enum outcome { UNDETECTED, TOLD_RIGHT, TOLD_WRONG, UNTOLD, OUTCOMES };

// What really happened to the memory, for comparison with the heap's explanation.
static struct {
  uint64_t address, size;
  int allocating_thread, freeing_thread;
  bool is_reused;
  const unsigned char *kinds;
} truth;

static volatile unsigned char sink;
// Hides from the compiler that the pointer is no longer valid.
static volatile unsigned char *volatile pointer;
static int result_pipe[2];

static NOINLINE unsigned char *allocate_here(size_t size) {
  unsigned char *memory = malloc(size);
  memset(memory, 1, size);
  truth.address = (uint64_t)memory;
  truth.size = size;
  truth.allocating_thread = gettid();
  pointer = memory;
  return memory;
}

static NOINLINE void free_here(void) {
  truth.freeing_thread = gettid();
  free((void *)pointer);
  __asm__ volatile("");
}

static bool is_in(uint64_t address, void *function) {
  return address > (uint64_t)function && address < (uint64_t)function + 256;
}

static bool is_true(const struct guard_heap_explanation *it) {
  const struct guard_heap_record *record = it->record;
  bool is_of_kind = strchr((const char *)truth.kinds, (char)it->kind) != NULL;
  if (!is_of_kind || record->address != truth.address || record->size != truth.size) return false;
  if ((record->uses > 1) != truth.is_reused || record->allocated.thread != truth.allocating_thread) return false;
  if (!is_in(record->allocated.frames[0], (void *)allocate_here) || record->allocated.frame_count < 3) return false;
  if (it->kind != GUARD_HEAP_USE_AFTER_FREE && it->kind != GUARD_HEAP_DOUBLE_FREE) return true;
  return record->freed.thread == truth.freeing_thread && is_in(record->freed.frames[0], (void *)free_here) &&
      record->freed.time >= record->allocated.time;
}

static void crashed(int signal, siginfo_t *info, void *context) {
  (void)context;
  struct guard_heap_explanation it;
  unsigned char outcome = UNTOLD;
  if (guard_heap_explain(signal == SIGABRT ? 0 : (uint64_t)info->si_addr, &it) && it.record)
    outcome = is_true(&it) ? TOLD_RIGHT : TOLD_WRONG;
  if (getenv("GUARD_HEAP_VERBOSE")) guard_heap_first_chance(signal, info, context);
  _exit(write(result_pipe[1], &outcome, 1) == 1 ? 0 : 1);
}

static void *read_later(void *unused) {
  sink = pointer[truth.size / 2];
  return unused;
}

static void *free_later(void *unused) {
  free_here();
  return unused;
}

static void in_thread(void *(*function)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, NULL) == 0) pthread_join(thread, NULL);
}

static void read_after_end(size_t count) {
  for (size_t i = 0; i < count; i++) sink = pointer[truth.size + i];
}

static void write_after_end(size_t count) {
  for (size_t i = 0; i < count; i++) pointer[truth.size + i] = (unsigned char)(rand() >> 8);
}

static void write_before_start(size_t count) {
  for (size_t i = 1; i <= count; i++) pointer[-(ptrdiff_t)i] = (unsigned char)(rand() >> 8);
}

static NOINLINE void no_bug(void) {
  free_here();
  static const char text[70] = "a text";
  char *grown = realloc(strdup(text), 200), *zero = calloc(7, 10);
  void *aligned = NULL;
  bool is_right = !strcmp(grown, text) && !memcmp(zero, (char[70]){0}, 70) && malloc_usable_size(zero) >= 70 &&
      posix_memalign(&aligned, 128, 200) == 0 && (uintptr_t)aligned % 128 == 0;
  if (!is_right) abort();
  free(grown), free(zero), free(aligned);
}
static NOINLINE void read_freed(void) { free_here(), sink = pointer[rand() % truth.size]; }
static NOINLINE void write_freed(void) { free_here(), pointer[rand() % truth.size] = 2; }
static NOINLINE void callback_after_free(void) { free_here(), in_thread(read_later); }
static NOINLINE void freed_elsewhere(void) { in_thread(free_later), sink = pointer[0]; }
static NOINLINE void freed_before_fork(void) {
  free_here();
  int status = 1;
  pid_t child = fork();
  if (child == 0) sink = pointer[0];
  else waitpid(child, &status, 0);
}
static NOINLINE void read_reused(void) {
  volatile unsigned char *first = pointer;
  free_here();
  // Until an allocation has the same address.
  for (int i = 0; i < 20000 && (uint64_t)first != truth.address + (i == 0); i++) allocate_here(truth.size), free_here();
  truth.is_reused = true;
  sink = *first;
}
static NOINLINE void read_1_after(void) { read_after_end(1), free_here(); }
static NOINLINE void read_16_after(void) { read_after_end(16), free_here(); }
static NOINLINE void read_to_guard(void) { read_after_end(8192), free_here(); }
static NOINLINE void write_1_after(void) { write_after_end(1), free_here(); }
static NOINLINE void write_16_after(void) { write_after_end(16), free_here(); }
static NOINLINE void read_far(void) { sink = pointer[truth.size + (size_t)(rand() % 8192)], free_here(); }
static NOINLINE void read_1_before(void) { sink = pointer[-1], free_here(); }
static NOINLINE void write_1_before(void) { write_before_start(1), free_here(); }
static NOINLINE void write_8_before(void) { write_before_start(8), free_here(); }
static NOINLINE void free_twice(void) { free_here(), free((void *)pointer); }
static NOINLINE void free_in_two_threads(void) { in_thread(free_later), free((void *)pointer); }
static NOINLINE void resize_freed(void) { free_here(), pointer = realloc((void *)pointer, 100); }
static NOINLINE void free_inside(void) { free((void *)(pointer + (truth.size + 1) / 2)); }

static const struct {
  const char *name;
  void (*run)(void);
  const unsigned char *kinds;
} bugs[] = {
    {"no error", no_bug, KINDS(99)},
    {"use after free, read", read_freed, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"use after free, write", write_freed, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"use after free by another thread", freed_elsewhere, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"use after free in a forked child", freed_before_fork, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"C callback on a thread after free", callback_after_free, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"use after free and reuse", read_reused, KINDS(GUARD_HEAP_USE_AFTER_FREE)},
    {"overflow, 1 byte read", read_1_after, KINDS(GUARD_HEAP_OVERFLOW)},
    {"overflow, 16 bytes read", read_16_after, KINDS(GUARD_HEAP_OVERFLOW)},
    {"overflow, read until a fault", read_to_guard, KINDS(GUARD_HEAP_OVERFLOW)},
    {"overflow, 1 byte written", write_1_after, KINDS(GUARD_HEAP_OVERFLOW, GUARD_HEAP_OVERFLOW_AT_FREE)},
    {"overflow, 16 bytes written", write_16_after, KINDS(GUARD_HEAP_OVERFLOW, GUARD_HEAP_OVERFLOW_AT_FREE)},
    {"read 0 to 8,191 bytes after the end", read_far, KINDS(GUARD_HEAP_OVERFLOW)},
    {"underflow, 1 byte read", read_1_before, KINDS(GUARD_HEAP_UNDERFLOW)},
    {"underflow, 1 byte written", write_1_before, KINDS(GUARD_HEAP_UNDERFLOW, GUARD_HEAP_UNDERFLOW_AT_FREE)},
    {"underflow, 8 bytes written", write_8_before, KINDS(GUARD_HEAP_UNDERFLOW, GUARD_HEAP_UNDERFLOW_AT_FREE)},
    {"double free", free_twice, KINDS(GUARD_HEAP_DOUBLE_FREE)},
    {"double free by two threads", free_in_two_threads, KINDS(GUARD_HEAP_DOUBLE_FREE)},
    {"realloc after free", resize_freed, KINDS(GUARD_HEAP_DOUBLE_FREE)},
    {"free of a pointer inside", free_inside, KINDS(GUARD_HEAP_INVALID_FREE)},
};

static enum outcome try(size_t bug, unsigned seed, bool is_rounded) {
  unsigned char outcome = UNDETECTED;
  if (pipe(result_pipe) != 0) abort();
  pid_t child = fork();
  if (child == 0) {
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    srand(seed);
    truth.kinds = bugs[bug].kinds;
    // Other allocations next to the one with the error.
    void *others[16];
    for (int i = 0; i < 16; i++) others[i] = malloc(1 + (size_t)rand() % 1024);
    size_t size = 1 + (size_t)rand() % 1024;
    allocate_here(is_rounded ? (size + 15) & ~15ul : size);
    for (int i = 0; i < 16; i++) others[i] = realloc(others[i], 1 + (size_t)rand() % 1024);
    bugs[bug].run();
    _exit(0);
  }
  close(result_pipe[1]);
  ssize_t count = read(result_pipe[0], &outcome, 1);
  close(result_pipe[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "%s: status %#x\n", bugs[bug].name, status);
    exit(1);
  }
  return count == 1 ? outcome : UNDETECTED;
}

static int try_all(unsigned trials) {
  struct guard_heap_statistics statistics;
  pointer = malloc(1);
  free((void *)pointer);
  guard_heap_get_statistics(&statistics);
  if (statistics.sampled == 0) {
    fprintf(stderr, "nothing is sampled: set GUARD_HEAP_RATE=1\n");
    return 64;
  }
  unsigned wrong = 0;
  for (int rounded = 0; rounded < 2; rounded++) {
    const char *sizes = rounded ? "sizes of 16, 32, ... 1,024" : "sizes of 1 to 1,024";
    printf("%-36s %9s %6s %6s %6s\n", sizes, "detected", "right", "wrong", "untold");
    for (size_t bug = 0; bug < sizeof bugs / sizeof *bugs; bug++) {
      unsigned outcomes[OUTCOMES] = {0};
      fflush(stdout);
      for (unsigned trial = 0; trial < trials; trial++) outcomes[try(bug, trial * 7919 + 1, rounded)]++;
      unsigned detected = trials - outcomes[UNDETECTED];
      printf(
          "%-36s %7.1f %% %6u %6u %6u\n", bugs[bug].name, 100.0 * detected / trials, outcomes[TOLD_RIGHT],
          outcomes[TOLD_WRONG], outcomes[UNTOLD]);
      wrong += outcomes[TOLD_WRONG];
    }
  }
  return wrong ? 1 : 0;
}

int main(int count, char **arguments) {
  // Without core files of the children.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  unsigned trials = count > 2 ? (unsigned)atoi(arguments[2]) : 400;
  if ((count == 2 || count == 3) && trials > 0 && !strcmp(arguments[1], "bugs")) return try_all(trials);
  if (count == 3 && !strcmp(arguments[1], "pairs")) return compare_allocation_pairs(arguments[2]);
  fprintf(stderr, "usage: guard-heap-trial bugs [TRIALS]\n       guard-heap-trial pairs LIBRARY\n");
  return 64;
}
