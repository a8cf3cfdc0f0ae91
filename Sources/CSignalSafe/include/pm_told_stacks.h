// What threads have told of their alternate stacks. The kernel tells a thread of its own alone; whoever sends a signal to another
// one must know whether its frame finds room there, or the kernel ends the process by SIGSEGV.
#ifndef PM_TOLD_STACKS_H
#define PM_TOLD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

enum {
  PM_TOLD_STACKS = 8192,
  // Places in which a thread may be found, by its ID: the kernel numbers threads one by one.
  PM_TOLD_PLACES = 16,
  // Alternate stacks below this size are small: a signal frame takes up to 11 KiB, and a handler some.
  PM_SMALL_STACK = 28 << 10,
};

// The alternate stack of a thread; a size of 0 for none.
struct pm_told_stack {
  uint64_t base;
  uint64_t size;
  // True for one that the handler has made: as large as it needs, and there as long as the thread has it.
  _Bool is_handlers;
};

// Tells that of the calling thread. Nothing is known of a thread without a place: all places that
// it may have are taken by living threads.
PM_CRASH_TIME void pm_tell_stack(int thread, struct pm_told_stack stack);

// Tells it as the kernel has it.
PM_CRASH_TIME void pm_tell_own_stack(void);

// Returns none where a thread has told nothing.
PM_CRASH_TIME struct pm_told_stack pm_told_stack(int thread);

// Returns where the threads' words are kept, for `postmortem capture`: PM_TOLD_STACKS entries of three numbers each, thread, base and
// size, whose highest bit is set where the stack is the handler's.
PM_CRASH_TIME uint64_t pm_told_stacks_place(void);

// True once a thread has told of a small one.
PM_CRASH_TIME _Bool pm_has_small_stacks(void);

#endif
