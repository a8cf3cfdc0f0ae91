// The alternate stacks that threads have set. Only the thread itself can ask the kernel for its alternate stack.
// Before a thread sends a signal to another one, it must know whether the signal frame fits on that stack; otherwise
// the kernel ends the process by SIGSEGV.
#ifndef PM_TOLD_STACKS_H
#define PM_TOLD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

enum {
  PM_TOLD_STACKS = 8192,
  // The number of entries in which a thread may be stored, by its ID; the kernel assigns consecutive IDs.
  PM_TOLD_PLACES = 16,
  // Alternate stacks below this size are small: a signal frame takes up to 11 KiB, and a handler needs stack too.
  PM_SMALL_STACK = 28 << 10,
};

// The alternate stack of a thread; a size of 0 for none.
struct pm_told_stack {
  uint64_t base;
  uint64_t size;
  // True for a stack that the handler created: it is large enough, and exists as long as the thread uses it.
  _Bool is_handlers;
};

// Records the alternate stack of the calling thread. If living threads use all entries that the thread may have,
// nothing is recorded.
PM_CRASH_TIME void pm_tell_stack(int thread, struct pm_told_stack stack);

// Records the alternate stack that the kernel has for the calling thread.
PM_CRASH_TIME void pm_tell_own_stack(void);

// Returns a stack of size 0 if nothing is recorded for the thread.
PM_CRASH_TIME struct pm_told_stack pm_told_stack(int thread);

// Returns the address of the table, for `postmortem capture`. It has PM_TOLD_STACKS entries of three numbers: thread,
// base and size. The highest bit of the size is set for a stack of the handler.
PM_CRASH_TIME uint64_t pm_told_stacks_place(void);

// True once a thread has set a small stack.
PM_CRASH_TIME _Bool pm_has_small_stacks(void);

#endif
