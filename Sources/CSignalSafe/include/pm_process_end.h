// Functions to call right before a process ends without exit handlers, and in the child of daemon(3): set by startHandler,
// called by the target CProcessEnds.
#ifndef PM_PROCESS_END_H
#define PM_PROCESS_END_H

#include "pm_annotations.h"

// Called in the process, and in children that run in its memory.
typedef void (*pm_process_end_function)(void);
// Called in the child, whose parent may have had threads.
typedef void (*pm_continuation_function)(void);

extern _Atomic(pm_process_end_function) pm_process_end_storage __attribute__((visibility("hidden")));
// Returns whether the program's calls of _exit reach the target; NULL without the target.
extern int (*_Nullable pm_follows_exits_storage)(void) __attribute__((visibility("hidden")));

static inline void pm_set_process_end(pm_process_end_function _Nullable function) {
  __c11_atomic_store(&pm_process_end_storage, function, __ATOMIC_SEQ_CST);
}
static inline pm_process_end_function _Nullable pm_process_end(void) {
  return __c11_atomic_load(&pm_process_end_storage, __ATOMIC_SEQ_CST);
}
extern _Atomic(pm_continuation_function) pm_continuation_storage __attribute__((visibility("hidden")));

static inline void pm_set_continuation(pm_continuation_function _Nullable function) {
  __c11_atomic_store(&pm_continuation_storage, function, __ATOMIC_SEQ_CST);
}
static inline pm_continuation_function _Nullable pm_continuation(void) {
  return __c11_atomic_load(&pm_continuation_storage, __ATOMIC_SEQ_CST);
}
static inline int pm_follows_exits(void) { return pm_follows_exits_storage ? pm_follows_exits_storage() : 0; }

#endif
