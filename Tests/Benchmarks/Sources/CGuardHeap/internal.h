#ifndef GUARD_HEAP_INTERNAL_H
#define GUARD_HEAP_INTERNAL_H

#include "include/guard_heap.h"

#define HIDDEN __attribute__((visibility("hidden")))

// The allocator that the program would have had, and the region of the slots.
struct heap_front {
  uintptr_t base, size;
  void *(*malloc)(size_t);
  void (*free)(void *);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  void *(*memalign)(size_t, size_t);
  size_t (*usable_size)(void *);
};
extern struct heap_front heap_front HIDDEN;

// The number of allocations of this thread until one is sampled; 0 at the start of a thread.
extern __thread int64_t heap_countdown __attribute__((tls_model("initial-exec"))) HIDDEN;

// Chooses when the thread samples next, and allocates from the slots. Returns null if the allocation is not sampled.
// `frame` is the caller's frame: the return address and the frame before it.
void *heap_sample(size_t size, size_t alignment, void *const *frame) HIDDEN;
// Frees an address in the region.
void heap_release(void *address, void *const *frame) HIDDEN;
// Returns the record of an address in the region that is about to be resized, after the same checks as for a free.
const struct guard_heap_record *heap_checked(void *address) HIDDEN;
// Returns the frames of a stack, as far as frame pointers lead within the bounds of the thread's stack.
uint32_t heap_stack(void *const *frame, uint64_t *frames, uint32_t capacity) HIDDEN;

#endif
