// The register by which code finds its thread's control block, for a handler that runs on a thread where it is wrong.
//
// Compiled code reads the stack protector's canary from that block, at the beginning of every function that takes the address of
// one of its variables: on a thread whose FS base points nowhere the handler would fault before its first line, again and again,
// and a process that an illegal instruction ended would die of SIGSEGV. Which functions those are, and with which settings, is for
// the compiler to decide; so the handler gives such a thread a block of its own for as long as it runs. On arm64 the canary is a
// global variable, and nothing reads the block.
#ifndef PM_THREAD_BASE_H
#define PM_THREAD_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_system_calls.h"

#define PM_OUTWARD PM_CRASH_TIME static __attribute__((noinline, unused, disable_sanitizer_instrumentation))

// What stands in for the control block. Source: System V ABI AMD64 supplement, 3.4.6 (its first word is its own address); glibc
// sysdeps/x86_64/nptl/tls.h (the canary at 40).
struct pm_thread_stand_in {
  void *_Nonnull itself;
  // What the register held.
  uint64_t base;
  uint64_t unused[3];
  // Tells one of these from the program's: glibc's canary has a low byte of 0.
  uint64_t canary;
};
#define PM_STAND_IN_CANARY(address) (0x73776966742d706du ^ (uint64_t)(address))

#if defined(__x86_64__)

// AT_HWCAP2 & HWCAP2_FSGSBASE, asked at install: without these instructions (Linux before 5.9) the register is taken to be good.
extern uint32_t pm_reads_thread_base_storage __attribute__((visibility("hidden")));

PM_INLINE uint64_t pm_read_thread_base(void) {
  uint64_t base;
  __asm__ volatile("rdfsbase %0" : "=r"(base));
  return base;
}
PM_INLINE void pm_write_thread_base(uint64_t base) { __asm__ volatile("wrfsbase %0" : : "r"(base) : "memory"); }

// A null pointer where the thread has its own block. Only where the canary can be read.
PM_INLINE struct pm_thread_stand_in *_Nullable pm_stand_in(uint64_t base) {
  struct pm_thread_stand_in *block = (struct pm_thread_stand_in *)base;
  return block->canary == PM_STAND_IN_CANARY(base) ? block : NULL;
}

// Gives the thread `block` if it needs one. Whether the canary can be read the kernel says: it copies the new mask before it looks
// at what is to be done with it, and there is no such thing as -1. Source: Linux kernel/signal.c, rt_sigprocmask.
PM_INLINE _Bool pm_enter_thread_base(struct pm_thread_stand_in *_Nonnull block) {
  if (!pm_reads_thread_base_storage) return 0;
  uint64_t base = pm_read_thread_base();
  long result = PM_SYSCALL(SYS_rt_sigprocmask, -1, base + offsetof(struct pm_thread_stand_in, canary), 0, sizeof(uint64_t), 0, 0);
  if (result != -14 /* EFAULT */) return 0;
  block->itself = block;
  block->base = base;
  block->canary = PM_STAND_IN_CANARY(block);
  pm_write_thread_base((uint64_t)block);
  return 1;
}
PM_INLINE void pm_leave_thread_base(const struct pm_thread_stand_in *_Nonnull block) { pm_write_thread_base(block->base); }

// For code of the program's that the handler calls: it runs with the register as the program left it. Returns what
// pm_take_thread_base_again is given, 0 where nothing was changed.
PM_INLINE uint64_t pm_give_thread_base_back(void) {
  if (!pm_reads_thread_base_storage) return 0;
  uint64_t base = pm_read_thread_base();
  const struct pm_thread_stand_in *block = pm_stand_in(base);
  if (!block) return 0;
  pm_write_thread_base(block->base);
  return base;
}
PM_INLINE void pm_take_thread_base_again(uint64_t base) {
  if (base) pm_write_thread_base(base);
}

// The calling thread's control block, where the program left it.
PM_INLINE uint64_t pm_thread_pointer(void) {
  uint64_t value;
  if (pm_reads_thread_base_storage) {
    value = pm_read_thread_base();
    const struct pm_thread_stand_in *block = pm_stand_in(value);
    return block ? block->base : value;
  }
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

#elif defined(__aarch64__)

PM_INLINE _Bool pm_enter_thread_base(struct pm_thread_stand_in *_Nonnull block) { return (void)block, 0; }
PM_INLINE void pm_leave_thread_base(const struct pm_thread_stand_in *_Nonnull block) { (void)block; }
PM_INLINE uint64_t pm_give_thread_base_back(void) { return 0; }
PM_INLINE void pm_take_thread_base_again(uint64_t base) { (void)base; }
PM_INLINE uint64_t pm_thread_pointer(void) {
  uint64_t value;
  __asm__("mrs %0, tpidr_el0" : "=r"(value));
  return value;
}

#endif

// The first function of a handler: runs the rest of it with a control block that can be read. Without a canary of its own, whatever
// the compiler is told.
PM_OUTWARD __attribute__((no_stack_protector)) void pm_run_handler(
    void (*_Nonnull handler)(int, void *_Nullable, void *_Nullable), int signal, void *_Nullable information,
    void *_Nullable context) {
  struct pm_thread_stand_in block;
  _Bool is_entered = pm_enter_thread_base(&block);
  handler(signal, information, context);
  if (is_entered) pm_leave_thread_base(&block);
}

// The same for the crash handler, which is told the stack pointer of its entry too; see pm_enter_crash.
PM_OUTWARD __attribute__((no_stack_protector)) void pm_run_crash_handler(
    void (*_Nonnull handler)(int, void *_Nullable, void *_Nullable, uint64_t), int signal, void *_Nullable information,
    void *_Nullable context, uint64_t entry_stack_pointer) {
  struct pm_thread_stand_in block;
  _Bool is_entered = pm_enter_thread_base(&block);
  handler(signal, information, context, entry_stack_pointer);
  if (is_entered) pm_leave_thread_base(&block);
}

#endif
