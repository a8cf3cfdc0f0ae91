// The context of work: one value of our own in Swift's task-local storage, which the runtime copies or links into tasks that a
// task makes. See Docs/Decisions/17-what-the-program-tells.md.
#ifndef PM_WORK_H
#define PM_WORK_H

#include <stdint.h>

#include "pm_annotations.h"
#include "pm_atomic.h"

// Facts that locate the list of task-local values of a task, and of a thread without a task.
//
// Source: swift include/swift/ABI/TaskLocal.h, class Item: the next item, its kind in the bits 1 and 2 (0 and 1 a value, 2 the
// end of the task's own, 3 the end of the list), the key, the type, the value.
struct pm_work_places {
  uint64_t key;
  uint64_t type;
  // Offset in a task; 0 while unknown, PM_WORK_NOWHERE, which is no place of a word, where the runtime has another layout.
  int64_t task_head;
  // Offset from the thread pointer of a pointer to the list of a thread; likewise.
  int64_t thread_head;
};
#define PM_WORK_NOWHERE 1
#define PM_WORK_VALUE_OFFSET 24

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

// The breadcrumbs of each work, which WorkRings.swift lays out: 515 pages. Those that are never written cost nothing.
#define PM_RING_MEMORY_SIZE 2109440
extern char pm_ring_memory_storage[PM_RING_MEMORY_SIZE] __attribute__((visibility("hidden")));

PM_INLINE void *_Nonnull pm_ring_memory(void) { return pm_ring_memory_storage; }

// -- Not for crash code ---------------------------------------------------------------------------------------------

// Gives the task, or the thread that runs none, a value; returns 0 if the program has no Swift concurrency. The first value
// finds out where the runtime keeps it.
_Bool pm_push_work(void *_Nonnull value, const void *_Nonnull type);

// Takes away the value that was given last.
void pm_pop_work(void);

// Returns the value in force where the caller runs.
void *_Nullable pm_work_value(void);

// Returns the runtime's number of the task that the thread runs; 0 for none.
uint64_t pm_task_id(void);

// Returns a number that no other work of the process has, from 1 on.
uint64_t pm_new_work(void);

// Returns the kernel's ID of the thread, which is kept once the handler is installed.
int pm_thread_id(void);

// Forgets the kept ID, in a forked child.
void pm_forget_thread_id(void);

#endif
