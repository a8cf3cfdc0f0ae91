// Stores values in Swift's task-local storage, and identifies the running thread and task.
#include "CSignalSafe.h"

#define SWIFT_CALL __attribute__((swiftcall, weak))

// Functions of the Swift runtime. Code that is inlined into programs calls them, so they are part of the runtime's ABI
// and keep their meaning. Source: swift stdlib/public/Concurrency/TaskLocal.swift.
extern SWIFT_CALL void swift_task_localValuePush(const void *key, void *value, const void *type);
extern SWIFT_CALL void swift_task_localValuePop(void);
extern SWIFT_CALL void *swift_task_localValueGet(const void *key);
extern SWIFT_CALL char *swift_task_getCurrent(void);
extern SWIFT_CALL uint64_t swift_task_getJobTaskId(void *task);

struct pm_work_places pm_work_places_storage = {0};
char pm_work_key_storage __attribute__((aligned(16)));
char pm_ring_memory_storage[PM_RING_MEMORY_SIZE] __attribute__((aligned(4096)));

// The version of the task layout for which this file and pm_work.h are correct.
#define KNOWN_LAYOUT 1

static bool heads(uint64_t word, uint64_t item) { return (word & ~7ull) == item; }

// Finds the word in a task object that holds the head of the task's list of task-local values. `item` is the first item
// in the list. A task object has 24 words, so the search ends after them.
static int64_t find_in_task(const char *task, uint64_t item) {
  for (int64_t offset = 0x40; offset < 24 * 8; offset += 8)
    if (heads(*(const uint64_t *)(task + offset), item)) return offset;
  return PM_WORK_NOWHERE;
}

// Finds the word in the runtime's thread-local block that points to the head of the thread's list of task-local
// values. `item` is the first item in the list.
static int64_t find_in_thread(const struct pm_task_facts *facts, uint64_t item) {
  const char *thread = __builtin_thread_pointer();
  for (uint64_t offset = 0; offset + 8 <= facts->block_size; offset += 8) {
    int64_t place = facts->block_offset + (int64_t)offset;
    uint64_t word = *(const uint64_t *)(thread + place);
    if (word < 0x10000 || word & 7 || !pm_is_readable(word)) continue;
    if (heads(*(const uint64_t *)word, item)) return place;
  }
  return PM_WORK_NOWHERE;
}

// Finds out where the runtime keeps the head of the list of task-local values, from the value that was just pushed, and
// stores this place in `head`.
static void learn(const char *task, const void *type, int64_t *head) {
  struct pm_task_facts facts;
  pm_find_task_facts(&facts);
  const char *value = swift_task_localValueGet(&pm_work_key_storage);
  int64_t found = PM_WORK_NOWHERE;
  if (value && facts.layout_version == KNOWN_LAYOUT) {
    const uint64_t *item = (const uint64_t *)(value - PM_WORK_VALUE_OFFSET);
    bool is_known = (item[0] & 7) <= 2 && item[1] == (uint64_t)&pm_work_key_storage && item[2] == (uint64_t)type;
    if (is_known) found = task ? find_in_task(task, (uint64_t)item) : find_in_thread(&facts, (uint64_t)item);
  }
  __atomic_store_n(&pm_work_places_storage.type, (uint64_t)type, __ATOMIC_RELEASE);
  __atomic_store_n(head, found, __ATOMIC_RELEASE);
}

bool pm_push_work(void *value, const void *type) {
  if (!swift_task_localValuePush || !swift_task_localValuePop || !swift_task_localValueGet || !swift_task_getCurrent) return 0;
  swift_task_localValuePush(&pm_work_key_storage, value, type);
  struct pm_work_places *places = &pm_work_places_storage;
  if (__atomic_load_n(&places->task_head, __ATOMIC_ACQUIRE) == 0 || __atomic_load_n(&places->thread_head, __ATOMIC_ACQUIRE) == 0) {
    const char *task = swift_task_getCurrent();
    int64_t *head = task ? &places->task_head : &places->thread_head;
    if (__atomic_load_n(head, __ATOMIC_ACQUIRE) == 0) learn(task, type, head);
  }
  return 1;
}

void pm_pop_work(void) { swift_task_localValuePop(); }

void *pm_work_value(void) {
  return swift_task_localValueGet ? swift_task_localValueGet(&pm_work_key_storage) : NULL;
}

uint64_t pm_task_id(void) {
  if (!swift_task_getCurrent || !swift_task_getJobTaskId) return 0;
  void *task = swift_task_getCurrent();
  return task ? swift_task_getJobTaskId(task) : 0;
}

uint64_t pm_new_work(void) {
  static uint64_t taken;
  // Each thread takes numbers in blocks, so that threads do not compete for one cache line.
  static _Thread_local uint64_t last, end;
  if (last == end) {
    last = __atomic_fetch_add(&taken, 4096, __ATOMIC_RELAXED);
    end = last + 4096;
  }
  return ++last;
}

static _Thread_local int thread_id;

int pm_thread_id(void) {
  int id = thread_id;
  if (id != 0) return id;
  id = pm_gettid();
  // The ID is cached only if the handler is installed, because only then do forked children discard the cached ID.
  if (pm_state()) thread_id = id;
  return id;
}

void pm_forget_thread_id(void) { thread_id = 0; }
