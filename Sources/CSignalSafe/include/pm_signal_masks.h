// The crash signals that stay unblocked in threads that asked to block them. For each thread, the target CSignalMasks
// records which signals these are, and the crash handler reads this record. See Docs/Decisions/10-signal-masks.md.
#ifndef PM_SIGNAL_MASKS_H
#define PM_SIGNAL_MASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_context.h"
#include "pm_system_calls.h"
#include "pm_thread_base.h"

PM_BEGIN_C

// The difference between the mask that a thread requested and the mask in the kernel; bit n - 1 stands for signal n.
struct __attribute__((aligned(16))) pm_thread_mask {
  // The signals that the thread asked to block, but that stay unblocked.
  uint64_t opened;
  // The mask that was set in the kernel when the thread asked. If the kernel no longer blocks one of the signals in
  // this mask, siglongjmp or the return from a signal handler has restored another mask. That mask then counts as the
  // one that the thread asked for.
  uint64_t kernel;
};

PM_INLINE uint64_t pm_asked_mask(struct pm_thread_mask mask, uint64_t kernel) {
  return (mask.kernel & ~kernel) == 0 ? kernel | mask.opened : kernel;
}

// The crash signals that stay unblocked in threads that ask to block them; 0 until startHandler has set them. While the
// value is 0, this package does not change the masks that threads request.
extern _Atomic(uint64_t) pm_kept_open_storage __attribute__((visibility("hidden")));
// The process in which these signals stay unblocked. They do not stay unblocked in a vfork child, which runs in its
// parent's memory, because the child sets its mask for the program that it will execute.
extern _Atomic(int32_t) pm_masks_process_storage __attribute__((visibility("hidden")));
// The offset of a thread's struct pm_thread_mask (a thread-local variable) from its thread pointer; 0 without
// CSignalMasks.
extern int64_t pm_thread_mask_offset_storage __attribute__((visibility("hidden")));
// A function that unblocks the crash signals that the calling thread blocks; NULL without CSignalMasks.
extern void (*_Nullable pm_adopt_mask_storage)(void) __attribute__((visibility("hidden")));

PM_INLINE uint64_t pm_kept_open(void) { return __c11_atomic_load(&pm_kept_open_storage, __ATOMIC_SEQ_CST); }

// Copies the calling thread's struct pm_thread_mask; returns 0 if the thread has no such struct, or if the struct
// cannot be read.
PM_INLINE bool pm_read_thread_mask(struct pm_thread_mask *_Nonnull mask) {
  uint64_t place = pm_thread_pointer() + (uint64_t)pm_thread_mask_offset_storage;
  if (pm_thread_mask_offset_storage == 0 || !pm_is_readable(place)) return 0;
  *mask = *(const struct pm_thread_mask *)place;
  return 1;
}

// Does the same as pm_adopt_mask (pm_program.h), but is called in a signal handler, for the thread that the handler
// interrupted. `context` is the handler's context, and `mask` is the thread's signal mask, which is in the context.
PM_INLINE void pm_adopt_interrupted_mask(void *_Nonnull context, uint64_t mask) {
  uint64_t place = pm_thread_pointer() + (uint64_t)pm_thread_mask_offset_storage, opened = mask & pm_kept_open();
  if (pm_thread_mask_offset_storage == 0 || opened == 0 || !pm_is_readable(place)) return;
  *(struct pm_thread_mask *)place = (struct pm_thread_mask){opened, mask & ~opened};
  pm_context_set_signal_mask(context, mask & ~opened);
}

PM_END_C

#endif
