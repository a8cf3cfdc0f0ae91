// Functions that code outside a crash uses to set values and to store data for crash code. Crash code must not call
// them.
#ifndef PM_PROGRAM_H
#define PM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"
#include "pm_handlers.h"
#include "pm_signal_masks.h"
#include "pm_state.h"

PM_BEGIN_C

// Adds `value`; returns the value before the addition.
PM_INLINE uint64_t pm_atomic_add_64(uint64_t *_Nonnull word, uint64_t value) {
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

struct __attribute__((packed, may_alias)) pm_word {
  uint64_t value;
};

// Copies a short text without memcpy, in less time than a string instruction takes to start.
PM_INLINE void pm_copy_text(void *_Nonnull to, const void *_Nonnull from, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    ((struct pm_word *)((char *)to + i))->value = ((const struct pm_word *)((const char *)from + i))->value;
    __asm__ volatile("" : : : "memory");
  }
  for (; i < count; i++) {
    ((char *)to)[i] = ((const char *)from)[i];
    __asm__ volatile("" : : : "memory");
  }
}

// Compares bytes without memcmp, because the first call of memcmp through the PLT would run the dynamic linker's
// resolver. The loads are atomic, because another thread may be writing the bytes. In that case the caller must
// accept either result.
PM_INLINE int pm_bytes_equal(const void *_Nonnull left, const void *_Nonnull right, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (__atomic_load_n((const char *)left + i, __ATOMIC_RELAXED) !=
        __atomic_load_n((const char *)right + i, __ATOMIC_RELAXED)) {
      return 0;
    }
  }
  return 1;
}

// Sets the function that pm_enter_crash calls; must be called before pm_enter_crash is installed as a signal handler.
static inline void pm_set_crash_handler(pm_crash_handler _Nonnull handler) {
  __c11_atomic_store(&pm_crash_handler_storage, handler, __ATOMIC_RELEASE);
}

PM_INLINE void pm_set_first_chance_handler(void *_Nullable handler) {
  __c11_atomic_store(&pm_first_chance_storage, handler, __ATOMIC_RELEASE);
}

PM_INLINE void pm_set_state(void *_Nullable state) { __c11_atomic_store(&pm_state_storage, state, __ATOMIC_RELEASE); }

// Keeps the given signals unblocked from now on.
static inline void pm_keep_open(uint64_t signals) {
  __c11_atomic_store(&pm_kept_open_storage, signals, __ATOMIC_SEQ_CST);
}

// Returns whether the program contains the target CSignalMasks.
static inline bool pm_replaces_masks(void) { return pm_replaces_masks_storage != 0; }

// Pushes a task-local value for the current task, or for the thread if it runs no task; returns 0 if the program has no
// Swift concurrency. The first push in a task, and the first push on a thread without a task, also find out where the
// runtime stores values.
bool pm_push_work(void *_Nonnull value, const void *_Nonnull type);

// Removes the value that pm_push_work pushed last in the current task, or in the thread if it runs no task.
void pm_pop_work(void);

// Returns the value that was pushed last in the current task, or in the thread if it runs no task; NULL if there is
// none.
void *_Nullable pm_work_value(void);

// Returns the number that the Swift runtime gave the calling thread's task; 0 if the thread runs no task, or if the
// program has no Swift concurrency.
uint64_t pm_task_id(void);

// Returns a number, at least 1, that no other unit of work in the process has.
uint64_t pm_new_work(void);

// Returns the kernel's ID of the calling thread, which is cached after the handler has been installed.
int pm_thread_id(void);

// Discards the cached thread ID; called in a forked child.
void pm_forget_thread_id(void);

// Makes the runtime call this package's hook, and then the previous one, for each throw from now on. `main_stack_end`
// is the end of the main thread's stack, up to which the hook walks that stack; 0 if the end is not known. Does nothing
// if the runtime has no such hook.
void pm_record_throws(uint64_t main_stack_end);

// Returns whether the Swift runtime has the hook for throws.
bool pm_tells_throws(void);

PM_END_C

#endif
