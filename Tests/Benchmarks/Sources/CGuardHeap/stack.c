#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "internal.h"

// The initial stack's end. Source: glibc, ld.so.
extern void *__libc_stack_end __attribute__((weak));

// The distance that a function of the initial thread may have from the stack's end. The kernel keeps a gap of at least
// 128 MiB between the initial stack and other mappings. Source: Linux arch/x86/mm/mmap.c, MIN_GAP.
#define INITIAL_STACK ((uintptr_t)64 << 20)

struct bounds {
  uintptr_t low, high;
};

static struct bounds bounds_of_thread(void) {
  if (getpid() == gettid()) {
    uintptr_t high = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return (struct bounds){high > INITIAL_STACK ? high - INITIAL_STACK : 0, high};
  }
  pthread_attr_t attributes;
  void *low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  return (struct bounds){(uintptr_t)low, (uintptr_t)low + size};
}

uint32_t heap_stack(void *const *frame, uint64_t *frames, uint32_t capacity) {
  static __thread struct bounds bounds __attribute__((tls_model("initial-exec")));
  if (bounds.high == 0) bounds = bounds_of_thread();
  uint32_t count = 0;
  uintptr_t low = bounds.low, place = (uintptr_t)frame;
  // On an alternate stack or a coroutine's, the first frame is outside the bounds.
  while (count < capacity && place >= low && bounds.high >= 16 && place <= bounds.high - 16 && place % 8 == 0) {
    const uint64_t *words = (const uint64_t *)place;
    // Without the upper bits, which may contain a pointer authentication code.
    uint64_t address = words[1] & 0x0000FFFFFFFFFFFF;
    if (address < 4096) break;
    frames[count++] = address;
    low = place + 16;
    place = words[0];
  }
  return count;
}
