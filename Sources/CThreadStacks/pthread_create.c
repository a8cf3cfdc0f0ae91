// Defines pthread_create in the program. Calls made by libdispatch, Swift concurrency, and C and C++ libraries reach
// this definition instead of libc's. Without this target, startHandler gives alternate stacks only to existing
// threads. See Docs/Decisions/11-alternate-stacks.md.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CSignalSafe.h"
#include "CThreadStacks.h"

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

// AddressSanitizer's or ThreadSanitizer's definition of pthread_create, which must be called for every thread.
// Otherwise ThreadSanitizer would crash in the first thread that it does not know, and AddressSanitizer would report
// that threads are joined twice.
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
    __attribute__((weak));
// libc's internal name for pthread_create, available only in static executables that are linked with `-u
// __pthread_create`.
extern int __pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) __attribute__((weak));

static create_function find_next(void) {
  static _Atomic(create_function) next;
  create_function found = atomic_load(&next);
  if (found) return found;
  if (__interceptor_pthread_create)
    found = __interceptor_pthread_create;
  else if (__pthread_create)
    found = __pthread_create;
  else
    found = (create_function)dlsym(RTLD_NEXT, "pthread_create");
  atomic_store(&next, found);
  return found;
}

struct thread_start {
  _Atomic(int) is_taken;
  void *(*routine)(void *);
  void *argument;
};

// The number of threads that can start at the same time without mapping memory; for each further thread, a page is
// mapped. This code does not use malloc, because a call of free in a new thread would create an arena, which takes 64
// MiB of address space.
enum { STARTS = 64, START_PAGE = 4096 };
static struct thread_start starts[STARTS];

static struct thread_start *take_start(void) {
  for (int i = 0; i < STARTS; i++) {
    if (!atomic_load(&starts[i].is_taken) && !atomic_exchange(&starts[i].is_taken, 1)) return &starts[i];
  }
  void *page = mmap(NULL, START_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? NULL : page;
}

static void give_back(struct thread_start *start) {
  if (start >= starts && start < starts + STARTS)
    atomic_store(&start->is_taken, 0);
  else
    munmap(start, START_PAGE);
}

// The first function of a thread. Both pthread_exit and cancellation unwind through this function's frame, so the
// function must not own resources when it calls `routine`.
static void *pm_start_thread(void *pointer) {
  struct thread_start *given = pointer;
  void *(*routine)(void *) = given->routine;
  void *argument = given->argument;
  give_back(given);
  pm_thread_start_function function = pm_thread_start();
  if (function) function();
  return routine(argument);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
                                                         const pthread_attr_t *restrict attributes,
                                                         void *(*routine)(void *), void *restrict argument) {
  create_function create = find_next();
  if (!create) {
    // A static executable without libc's pthread_create gets here when it creates its first thread. The process must
    // end, because libdispatch would try again forever.
    static const char text[] =
        "postmortem: this static executable can make no thread: link it with -Xlinker -u -Xlinker __pthread_create, or"
        " build swift-postmortem without the trait Interposition\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    abort();
  }
  pm_add_plain_creations(1);
  if (!pm_thread_start()) {
    int result = create(thread, attributes, routine, argument);
    pm_add_plain_creations((uint32_t)-1);
    return result;
  }
  pm_add_plain_creations((uint32_t)-1);
  int before = errno;
  struct thread_start *start = take_start();
  errno = before;
  // Without memory for the start data, the thread is created without an alternate stack.
  if (!start) return create(thread, attributes, routine, argument);
  start->routine = routine;
  start->argument = argument;
  int result = create(thread, attributes, pm_start_thread, start);
  if (result != 0) give_back(start);
  return result;
}
