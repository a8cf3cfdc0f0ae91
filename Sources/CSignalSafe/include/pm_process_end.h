// Two functions that startHandler sets and the target CProcessEnds calls: one directly before a process ends without
// exit handlers, the other after daemon(3).
#ifndef PM_PROCESS_END_H
#define PM_PROCESS_END_H

#include "pm_annotations.h"

PM_BEGIN_C

// A function that is called when the process calls _exit, or when a vfork child, which runs in the process's memory,
// calls _exit.
typedef void (*pm_process_end_function)(void);
// A function that is called after daemon(3): in the child, to create the handler's files for it, or in the parent, if
// daemon failed. The parent's other threads do not exist in the child.
typedef void (*pm_continuation_function)(int is_child);

extern _Atomic(pm_process_end_function) pm_process_end_storage __attribute__((visibility("hidden")));
// A function that returns whether the program's calls of _exit reach the target CProcessEnds; NULL without the
// target.
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

PM_END_C

#endif
