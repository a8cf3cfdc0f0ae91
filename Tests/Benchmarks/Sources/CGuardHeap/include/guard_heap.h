// A trial of a sampling guard heap (Docs/Decisions/35-guard-heap.md): some allocations get a page of their own between
// guard pages. A freed page stays inaccessible until its slot is used again.
#ifndef GUARD_HEAP_H
#define GUARD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_HEAP_FRAMES 24
#define GUARD_HEAP_CONTEXT 256

// An allocation or a free.
struct guard_heap_event {
  // Nanoseconds of CLOCK_MONOTONIC.
  int64_t time;
  int32_t thread;
  uint32_t frame_count;
  // Return addresses, the innermost first.
  uint64_t frames[GUARD_HEAP_FRAMES];
  // The context of the thread or task, as swift-postmortem stores it; empty if there is none.
  unsigned char context[GUARD_HEAP_CONTEXT];
};

enum guard_heap_state {
  GUARD_HEAP_UNUSED,
  // A thread is allocating or freeing the slot.
  GUARD_HEAP_BUSY,
  GUARD_HEAP_LIVE,
  GUARD_HEAP_FREED,
};

// The last allocation in a slot.
struct guard_heap_record {
  uint32_t state;
  // The number of allocations that the slot has had.
  uint32_t uses;
  uint64_t address;
  uint64_t size;
  // The first bytes of the allocation when it was freed. A Swift object begins with its metadata.
  unsigned char first[32];
  struct guard_heap_event allocated, freed;
};

enum guard_heap_kind {
  GUARD_HEAP_NOTHING,
  GUARD_HEAP_USE_AFTER_FREE,
  GUARD_HEAP_OVERFLOW,
  GUARD_HEAP_UNDERFLOW,
  GUARD_HEAP_DOUBLE_FREE,
  GUARD_HEAP_INVALID_FREE,
  // Bytes after or before the allocation had changed when it was freed.
  GUARD_HEAP_OVERFLOW_AT_FREE,
  GUARD_HEAP_UNDERFLOW_AT_FREE,
  // An address in the region that no allocation explains.
  GUARD_HEAP_UNEXPLAINED,
};

struct guard_heap_explanation {
  enum guard_heap_kind kind;
  // The address that was accessed, freed or found changed.
  uint64_t address;
  // Null for `GUARD_HEAP_UNEXPLAINED`.
  const struct guard_heap_record *record;
};

struct guard_heap_statistics {
  uint64_t slots, sampled, live, no_slot, too_large, seeded_threads;
};

// Explains a fault at an address, or, for the address 0, what a free found. Callable in a signal handler. Returns false
// if the heap has no explanation.
bool guard_heap_explain(uint64_t address, struct guard_heap_explanation *explanation);
const char *guard_heap_kind_name(enum guard_heap_kind kind);
void guard_heap_get_statistics(struct guard_heap_statistics *statistics);
// Prints the explanation of a crash signal to standard error, and returns false. Its type is that of swift-postmortem's
// `FirstChanceHandler`.
bool guard_heap_first_chance(int signal, void *information, void *context);

#endif
