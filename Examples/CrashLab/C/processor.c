// Instructions that the processor refuses.
#include "CCrashLab.h"

__attribute__((noinline)) void crash_divide_by_zero(void) {
  // Both operands are volatile, because 1 / x would not need a division instruction.
  volatile int ten = 10, zero = 0;
  volatile int result = ten / zero;
  (void)result;
}

__attribute__((noinline)) void crash_illegal_instruction(void) {
#if defined(__x86_64__)
  __asm__ volatile("ud2");
#else
  __asm__ volatile(".inst 0x00000000");
#endif
}

__attribute__((noinline)) void crash_builtin_trap(void) { __builtin_trap(); }

__attribute__((noinline)) void crash_breakpoint(void) {
#if defined(__x86_64__)
  __asm__ volatile("int3");
#else
  __asm__ volatile("brk #0xf000");
#endif
  __asm__ volatile("nop");
}
