// Atomic operations on 32-bit words that are also futexes, and on 64-bit words in memory with a fixed layout. Swift's
// Atomic cannot be used, because its address, which a futex wait needs, is not available.
#ifndef PM_ATOMIC_H
#define PM_ATOMIC_H

#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

PM_INLINE uint32_t pm_atomic_load(const uint32_t *_Nonnull word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

PM_INLINE void pm_atomic_store(uint32_t *_Nonnull word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

// Adds `value`; returns the value before the addition.
PM_INLINE uint32_t pm_atomic_add(uint32_t *_Nonnull word, uint32_t value) {
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

// Stores `desired` if the word holds `expected`; returns the previous value.
PM_INLINE uint32_t pm_atomic_compare_exchange(uint32_t *_Nonnull word, uint32_t expected, uint32_t desired) {
  __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}

PM_INLINE uint64_t pm_atomic_load_64(const uint64_t *_Nonnull word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

PM_INLINE void pm_atomic_store_64(uint64_t *_Nonnull word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

// Stores `desired` if the word holds `expected`; returns the previous value.
PM_INLINE uint64_t pm_atomic_compare_exchange_64(uint64_t *_Nonnull word, uint64_t expected, uint64_t desired) {
  __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}

PM_END_C

#endif
