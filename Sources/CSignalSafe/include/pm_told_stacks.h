// A record of the alternate stacks that threads have set. Only a thread itself can ask the kernel which alternate
// stack the thread has. But before a thread sends a signal to another thread, it must know whether the signal frame
// fits on the other thread's alternate stack. If the frame does not fit, the kernel ends the process with SIGSEGV.
#ifndef PM_TOLD_STACKS_H
#define PM_TOLD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

enum {
  PM_TOLD_STACKS = 8192,
  // The number of table entries in which a thread with a given ID may be recorded. Collisions are rare, because the
  // kernel assigns consecutive IDs.
  PM_TOLD_PLACES = 16,
  // Alternate stacks below this size in bytes count as small: `ThreadRoom` does not assume that they have room for a
  // signal frame. A signal frame takes up to 11 KiB, and a handler needs stack in addition.
  PM_SMALL_STACK = 28 << 10,
};

// A thread's alternate stack; the size is 0 if the thread has none, or if it is not known.
struct pm_told_stack {
  uint64_t base;
  uint64_t size;
  // True for a stack that this package created. Such a stack is large enough for a signal frame and the handler, and
  // exists as long as the thread uses it.
  bool is_handlers;
};

// Records the alternate stack of the calling thread. If other living threads use all entries that may hold this
// thread, nothing is recorded.
PM_CRASH_TIME void pm_tell_stack(int thread, struct pm_told_stack stack);

// Records the alternate stack that the kernel has for the calling thread.
PM_CRASH_TIME void pm_tell_own_stack(void);

// Returns the alternate stack that is recorded for a thread; the size is 0 if none is recorded.
PM_CRASH_TIME struct pm_told_stack pm_told_stack(int thread);

// Returns the address of the table, for `postmortem capture`. The table has PM_TOLD_STACKS entries of three numbers:
// thread, base and size. The highest bit of the size is set for a stack that the handler created.
PM_CRASH_TIME uint64_t pm_told_stacks_place(void);

// Returns true after any thread has set an alternate stack of less than PM_SMALL_STACK bytes.
PM_CRASH_TIME bool pm_has_small_stacks(void);

PM_END_C

#endif
