// What a thread that is made does before its own routine: set by startHandler, called by the pthread_create of the target
// CThreadStacks where a program has that. Ordinary code, not for a crash.
#ifndef PM_THREAD_START_H
#define PM_THREAD_START_H

#include <stdint.h>

typedef void (*pm_thread_start_function)(void);

extern _Atomic(pm_thread_start_function) pm_thread_start_storage __attribute__((visibility("hidden")));
extern _Atomic(uint32_t) pm_plain_creations_storage __attribute__((visibility("hidden")));

// NULL again makes threads as if the target were not there.
static inline void pm_set_thread_start(pm_thread_start_function _Nullable function) {
  __c11_atomic_store(&pm_thread_start_storage, function, __ATOMIC_SEQ_CST);
}

static inline pm_thread_start_function _Nullable pm_thread_start(void) {
  return __c11_atomic_load(&pm_thread_start_storage, __ATOMIC_SEQ_CST);
}

// Calls of pthread_create under way that may have found no function. Once the function is set and this is 0, every thread
// either has run it or is in the list of threads. Both orders are sequential: the one stores and then counts, the other
// counts and then loads, so one of them sees the other.
static inline uint32_t pm_plain_creations(void) {
  return __c11_atomic_load(&pm_plain_creations_storage, __ATOMIC_SEQ_CST);
}
static inline void pm_add_plain_creations(uint32_t count) {
  __c11_atomic_fetch_add(&pm_plain_creations_storage, count, __ATOMIC_SEQ_CST);
}

#endif
