// A function that each new thread calls before its own routine: set by startHandler, called by the target CThreadStacks. Not
// for crash code.
#ifndef PM_THREAD_START_H
#define PM_THREAD_START_H

#include <stdint.h>

typedef void (*pm_thread_start_function)(void);

extern _Atomic(pm_thread_start_function) pm_thread_start_storage __attribute__((visibility("hidden")));
extern _Atomic(uint32_t) pm_plain_creations_storage __attribute__((visibility("hidden")));

// With NULL, threads are made as if the target were absent.
static inline void pm_set_thread_start(pm_thread_start_function _Nullable function) {
  __c11_atomic_store(&pm_thread_start_storage, function, __ATOMIC_SEQ_CST);
}

static inline pm_thread_start_function _Nullable pm_thread_start(void) {
  return __c11_atomic_load(&pm_thread_start_storage, __ATOMIC_SEQ_CST);
}

// Counts the calls of pthread_create under way that may have found no function. Once the function is set and this is 0, every
// thread has run it or is in the list of threads: one side stores and then reads the count, the other counts and then loads,
// both in sequential order.
static inline uint32_t pm_plain_creations(void) {
  return __c11_atomic_load(&pm_plain_creations_storage, __ATOMIC_SEQ_CST);
}
static inline void pm_add_plain_creations(uint32_t count) {
  __c11_atomic_fetch_add(&pm_plain_creations_storage, count, __ATOMIC_SEQ_CST);
}

#endif
