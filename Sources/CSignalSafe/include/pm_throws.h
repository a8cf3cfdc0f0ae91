// Where each thread last threw Swift errors, recorded through a hook in the Swift runtime. See
// Docs/Decisions/26-swift-facts.md.
#ifndef PM_THROWS_H
#define PM_THROWS_H

#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

#define PM_THROWER_COUNT 256
#define PM_THROW_COUNT 4
#define PM_THROW_ADDRESS_COUNT 8

// The record of one throw. A thread may write the record while the crash handler copies it, so a copy is valid only if
// `check` matches the other fields.
struct pm_throw {
  uint64_t check;
  // The time of the throw, from CLOCK_BOOTTIME, in nanoseconds.
  uint64_t uptime;
  // The address of the error's box; 0 for a typed throw, whose error has no box.
  uint64_t error;
  // The return addresses, innermost first; 0 after the last one.
  uint64_t addresses[PM_THROW_ADDRESS_COUNT];
};

// Up to PM_THROW_COUNT throws on one thread. While the address of an error's box is in `boxes`, further throws of this
// error change only `touched`.
struct pm_thrower {
  uint32_t thread;
  uint32_t count;
  struct pm_throw throws[PM_THROW_COUNT];
  // The addresses of the errors' boxes; 0 for no box. While an address is in this array, an unowned reference keeps the
  // memory of the box, so that no other error gets the same address.
  uint64_t boxes[PM_THROW_COUNT];
  // The value of `count` when each error was last thrown, by which the oldest error is found.
  uint32_t touched[PM_THROW_COUNT];
};

extern struct pm_thrower pm_throwers_storage[PM_THROWER_COUNT] __attribute__((visibility("hidden")));
// How many times a thread has been assigned a table entry since the program started. Once all PM_THROWER_COUNT entries
// have been assigned, entries are reused for other threads.
extern uint32_t pm_throwers_taken __attribute__((visibility("hidden")));

PM_INLINE uint64_t pm_throw_check(const struct pm_throw *_Nonnull record, uint32_t thread) {
  uint64_t sum = record->uptime ^ record->error;
  for (int index = 0; index < PM_THROW_ADDRESS_COUNT; index++) sum = (sum << 7 | sum >> 57) ^ record->addresses[index];
  return sum ^ ((uint64_t)thread << 32 | 1);
}

// Returns how many entries have been used. The crash handler reads only these entries, because reading the others
// would load untouched pages.
PM_INLINE int pm_thrower_count(void) {
  uint32_t taken = __atomic_load_n(&pm_throwers_taken, __ATOMIC_RELAXED);
  return taken < PM_THROWER_COUNT ? (int)taken : PM_THROWER_COUNT;
}

// Returns the time of a throw, even if the record is incomplete; 0 if there is no throw.
PM_INLINE uint64_t pm_throw_uptime(int thrower, int index) {
  return __atomic_load_n(&pm_throwers_storage[thrower].throws[index].uptime, __ATOMIC_RELAXED);
}

// Copies the record of a throw from the table. Returns the thread's ID, or 0 if there is no throw or the record is
// incomplete.
PM_INLINE uint32_t pm_copy_throw(int thrower, int index, struct pm_throw *_Nonnull record) {
  uint32_t thread = __atomic_load_n(&pm_throwers_storage[thrower].thread, __ATOMIC_RELAXED);
  *record = pm_throwers_storage[thrower].throws[index];
  return record->uptime != 0 && record->check == pm_throw_check(record, thread) ? thread : 0;
}

PM_INLINE uint64_t pm_throw_address(const struct pm_throw *_Nonnull record, int index) { return record->addresses[index]; }

PM_END_C

#endif
