// The functions in front of the allocator's. An allocation that is not sampled costs a decrement, a branch and a jump.
// A free costs a comparison and a jump.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
// The frame of a function that was reached by a jump from the exported one, so that its caller is the program.
#define FRAME ((void *const *)__builtin_frame_address(0))

static void resolve(void) {
  heap_front.calloc = dlsym(RTLD_NEXT, "calloc");
  heap_front.realloc = dlsym(RTLD_NEXT, "realloc");
  heap_front.memalign = dlsym(RTLD_NEXT, "memalign");
  heap_front.usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
  void (*next_free)(void *) = dlsym(RTLD_NEXT, "free");
  heap_front.malloc = dlsym(RTLD_NEXT, "malloc");
  heap_front.free = next_free;
}

// The first free may come before the first allocation.
static void first_free(void *address) {
  if (!address) return;
  resolve();
  heap_front.free(address);
}

struct heap_front heap_front = {.free = first_free};
__thread int64_t heap_countdown;

static inline bool is_ours(const void *address) { return (uintptr_t)address - heap_front.base < heap_front.size; }
static inline bool is_unsampled(void) { return __builtin_expect(--heap_countdown > 0, 1); }

static SLOW void *slow_malloc(size_t size) {
  if (!heap_front.malloc) resolve();
  void *address = heap_sample(size, 16, FRAME);
  return address ? address : heap_front.malloc(size);
}

EXPORT void *malloc(size_t size) {
  if (is_unsampled()) return heap_front.malloc(size);
  return slow_malloc(size);
}

static SLOW void slow_free(void *address) { heap_release(address, FRAME); }

EXPORT void free(void *address) {
  if (__builtin_expect(is_ours(address), 0)) return slow_free(address);
  heap_front.free(address);
}

static SLOW void *slow_calloc(size_t count, size_t size) {
  if (!heap_front.malloc) resolve();
  size_t bytes;
  // A sampled page is new, so its bytes are 0.
  void *address = __builtin_mul_overflow(count, size, &bytes) ? NULL : heap_sample(bytes, 16, FRAME);
  return address ? address : heap_front.calloc(count, size);
}

EXPORT void *calloc(size_t count, size_t size) {
  if (is_unsampled()) return heap_front.calloc(count, size);
  return slow_calloc(count, size);
}

static SLOW void *slow_realloc(void *old, size_t size) {
  if (!heap_front.malloc) resolve();
  const struct guard_heap_record *record = old && is_ours(old) ? heap_checked(old) : NULL;
  if (size == 0 && old) {
    if (!record) return heap_front.realloc(old, 0);
    heap_release(old, FRAME);
    return NULL;
  }
  void *new = heap_countdown > 0 ? NULL : heap_sample(size, 16, FRAME);
  if (!new && !record) return heap_front.realloc(old, size);
  if (!new) new = heap_front.malloc(size);
  if (!new || !old) return new;
  size_t count = record ? record->size : heap_front.usable_size(old);
  memcpy(new, old, count < size ? count : size);
  if (record) heap_release(old, FRAME);
  else heap_front.free(old);
  return new;
}

EXPORT void *realloc(void *old, size_t size) {
  if (is_unsampled() && !is_ours(old)) return heap_front.realloc(old, size);
  return slow_realloc(old, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(old, bytes);
  errno = ENOMEM;
  return NULL;
}

static SLOW void *slow_memalign(size_t alignment, size_t size) {
  if (!heap_front.malloc) resolve();
  void *address = heap_sample(size, alignment < 16 ? 16 : alignment, FRAME);
  return address ? address : heap_front.memalign(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size) {
  if (is_unsampled()) return heap_front.memalign(alignment, size);
  return slow_memalign(alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

EXPORT int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment) return EINVAL;
  int before = errno;
  void *address = memalign(alignment, size);
  errno = before;
  if (!address) return ENOMEM;
  *result = address;
  return 0;
}

EXPORT void *valloc(size_t size) { return memalign((size_t)getpagesize(), size); }

EXPORT void *pvalloc(size_t size) {
  size_t page = (size_t)getpagesize();
  return memalign(page, (size + page - 1) & ~(page - 1));
}

EXPORT size_t malloc_usable_size(void *address) {
  if (!address) return 0;
  if (is_ours(address)) return heap_checked(address)->size;
  return heap_front.usable_size(address);
}
