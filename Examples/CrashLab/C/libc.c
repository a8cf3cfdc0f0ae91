// Crashes that the C library causes.
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "CCrashLab.h"

__attribute__((noinline)) void crash_assert(void) {
  volatile int crashes = 1;
  assert(crashes == 0);
  __asm__ volatile("");
}

// 1,032 bytes is the largest size of glibc's per-thread cache, and rare. For a common size, malloc may move seven blocks
// that other threads freed into the cache: it is full then, and free reports "double free or corruption (fasttop)"
// instead of "double free detected in tcache 2" (1 of 10,000 runs of the catalogue; glibc 2.36, _int_malloc).
__attribute__((noinline)) void crash_double_free(void) {
  void *volatile block = malloc(1032);
  free(block);
  free(block);
  __asm__ volatile("");
}

// The function that -fstack-protector's check calls when a canary was overwritten. It is called
// directly, because a package with that compiler flag could not be used as a dependency.
extern void __stack_chk_fail(void);

__attribute__((noinline)) void crash_stack_smash(void) {
  __stack_chk_fail();
  __asm__ volatile("");
}
