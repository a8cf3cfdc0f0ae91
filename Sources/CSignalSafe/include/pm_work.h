// The context of a unit of work, which this package stores as one value in Swift's task-local storage. The runtime
// copies or links such values into child tasks, so a child task has the context of its parent. See
// Docs/Decisions/17-what-the-program-tells.md.
#ifndef PM_WORK_H
#define PM_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_atomic.h"

PM_BEGIN_C

// Facts that locate a task's list of task-local values, and the corresponding list of a thread that runs no task.
//
// Source: swift include/swift/ABI/TaskLocal.h, class Item. An item contains a pointer to the next item, the key, the
// type and the value. Bits 1 and 2 of the first word (bit 0 is the lowest) are the item's kind: 0 and 1 for a value, 2
// for the end of the task's own values, 3 for the end of the list.
struct pm_work_places {
  uint64_t key;
  uint64_t type;
  // The offset of the list's head in a task. The field is 0 as long as the offset is not known, and PM_WORK_NOWHERE
  // if the runtime has another layout.
  int64_t task_head;
  // The offset, from the thread pointer, of the word that points to the head of the thread's list. This offset has
  // the same special values as task_head.
  int64_t thread_head;
};
#define PM_WORK_NOWHERE 1
#define PM_WORK_VALUE_OFFSET 24

// `postmortem capture` finds these two variables in a process by their names. If the layout of pm_work_places changes,
// pm_work_places_storage must get another name.
extern struct pm_work_places pm_work_places_storage __attribute__((visibility("hidden")));
extern char pm_work_key_storage __attribute__((visibility("hidden")));

PM_INLINE struct pm_work_places pm_work_places(void) {
  struct pm_work_places places = {
      (uint64_t)&pm_work_key_storage,
      __atomic_load_n(&pm_work_places_storage.type, __ATOMIC_ACQUIRE),
      __atomic_load_n(&pm_work_places_storage.task_head, __ATOMIC_ACQUIRE),
      __atomic_load_n(&pm_work_places_storage.thread_head, __ATOMIC_ACQUIRE),
  };
  return places;
}

// The size in bytes (515 pages) of the memory for the breadcrumbs of all units of work. WorkRings.swift defines the
// layout. Pages that are never written take no memory.
#define PM_RING_MEMORY_SIZE 2109440
extern char pm_ring_memory_storage[PM_RING_MEMORY_SIZE] __attribute__((visibility("hidden")));

PM_INLINE void *_Nonnull pm_ring_memory(void) { return pm_ring_memory_storage; }

// The size in bytes of the table of open contexts; see pm_open_contexts.h.
#define PM_OPEN_CONTEXTS_SIZE 65088
extern char pm_open_contexts_storage[PM_OPEN_CONTEXTS_SIZE] __attribute__((visibility("hidden")));

PM_INLINE void *_Nonnull pm_open_contexts(void) { return pm_open_contexts_storage; }
// Returns the size of the part of the table that the program has ever used; 0 if no context was ever opened.
PM_INLINE size_t pm_open_contexts_used(void) {
  uint64_t used = pm_atomic_load_64((const uint64_t *)pm_open_contexts_storage + 1);
  return used < PM_OPEN_CONTEXTS_SIZE ? used : PM_OPEN_CONTEXTS_SIZE;
}

PM_END_C

#endif
