// Ends that the C library decides on.
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "CCrashLab.h"

__attribute__((noinline)) void crash_assert(void) {
  volatile int crashes = 1;
  assert(crashes == 0);
  __asm__ volatile("");
}

__attribute__((noinline)) void crash_double_free(void) {
  void *volatile block = malloc(32);
  free(block);
  free(block);
  __asm__ volatile("");
}

// What -fstack-protector's check calls when a canary is gone. Called directly: a package cannot pass that flag to the
// compiler without becoming one that nobody may depend on.
extern void __stack_chk_fail(void);

__attribute__((noinline)) void crash_stack_smash(void) {
  __stack_chk_fail();
  __asm__ volatile("");
}
