// A function that startHandler sets, and that the target CThreadStacks calls in each new thread before the thread's
// start routine. Crash code does not use this header.
#ifndef PM_THREAD_START_H
#define PM_THREAD_START_H

#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

typedef void (*pm_thread_start_function)(void);

extern _Atomic(pm_thread_start_function) pm_thread_start_storage __attribute__((visibility("hidden")));
extern _Atomic(uint32_t) pm_plain_creations_storage __attribute__((visibility("hidden")));

// The signal that stops threads, which the threads of this package leave unblocked; 0 for none.
extern _Atomic(int) pm_stop_signal_storage __attribute__((visibility("hidden")));
static inline void pm_set_stop_signal(int signal) {
  __c11_atomic_store(&pm_stop_signal_storage, signal, __ATOMIC_SEQ_CST);
}
static inline int pm_stop_signal(void) { return __c11_atomic_load(&pm_stop_signal_storage, __ATOMIC_SEQ_CST); }

// Sets the function. If it is NULL, threads are created as if the target CThreadStacks were absent.
static inline void pm_set_thread_start(pm_thread_start_function _Nullable function) {
  __c11_atomic_store(&pm_thread_start_storage, function, __ATOMIC_SEQ_CST);
}

static inline pm_thread_start_function _Nullable pm_thread_start(void) {
  return __c11_atomic_load(&pm_thread_start_storage, __ATOMIC_SEQ_CST);
}

// Returns the number of pthread_create calls in progress that may have loaded NULL instead of the function. Once the
// function is set and this number is 0, each thread either runs the function or is already in the kernel's list of
// threads. To guarantee this, startHandler stores the function and then reads the count, while pthread_create
// increments the count and then loads the function, all with sequentially consistent operations.
static inline uint32_t pm_plain_creations(void) {
  return __c11_atomic_load(&pm_plain_creations_storage, __ATOMIC_SEQ_CST);
}
static inline void pm_add_plain_creations(uint32_t count) {
  __c11_atomic_fetch_add(&pm_plain_creations_storage, count, __ATOMIC_SEQ_CST);
}

PM_END_C

#endif
