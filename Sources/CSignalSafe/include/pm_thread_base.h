// Gives the handler a stand-in for the thread control block if the thread's FS base register does not point to a
// readable one.
//
// On x86_64, compiled code reads the stack protector's canary from that block, in each function for which the
// compiler chooses a canary. Without a readable block, the handler would fault again and again before its first line,
// and SIGSEGV would end even a process that crashed with SIGILL. On arm64, the canary is a global variable, so
// nothing is needed.
#ifndef PM_THREAD_BASE_H
#define PM_THREAD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_system_calls.h"

PM_BEGIN_C

#define PM_OUTWARD PM_CRASH_TIME static __attribute__((noinline, unused, disable_sanitizer_instrumentation))

// A stand-in for the thread control block. Source: System V ABI AMD64 supplement, 3.4.6 (the first word is the
// block's own address); glibc sysdeps/x86_64/nptl/tls.h (the canary at 40).
struct pm_thread_stand_in {
  void *_Nonnull itself;
  // The previous value of the FS base register.
  uint64_t base;
  uint64_t unused[3];
  // The canary, which distinguishes a stand-in from glibc's block, because the low byte of glibc's canary is 0.
  uint64_t canary;
};
#define PM_STAND_IN_CANARY(address) (0x73776966742d706du ^ (uint64_t)(address))

#if defined(__x86_64__)

// AT_HWCAP2 & HWCAP2_FSGSBASE, read when the handler is installed. If this is 0, as on Linux before 5.9, the
// instructions that read and write the FS base register cannot be used, and the register is assumed to be correct.
extern uint32_t pm_reads_thread_base_storage __attribute__((visibility("hidden")));

PM_INLINE uint64_t pm_read_thread_base(void) {
  uint64_t base;
  __asm__ volatile("rdfsbase %0" : "=r"(base));
  return base;
}
PM_INLINE void pm_write_thread_base(uint64_t base) { __asm__ volatile("wrfsbase %0" : : "r"(base) : "memory"); }

// Returns the stand-in that the thread uses; NULL if the thread uses its normal block. The canary of the block at
// `base` must be readable.
PM_INLINE struct pm_thread_stand_in *_Nullable pm_stand_in(uint64_t base) {
  struct pm_thread_stand_in *block = (struct pm_thread_stand_in *)base;
  return block->canary == PM_STAND_IN_CANARY(base) ? block : NULL;
}

// Makes the thread use `block` if the canary in the thread's normal block cannot be read. The check is a system call
// that reads the canary as a signal mask: the kernel copies the mask before it refuses the operation -1. Source:
// Linux kernel/signal.c, rt_sigprocmask.
//
// This check is the first system call of a handler, except in the crash handler for SIGSYS and in a crash handler that
// has lost its code (pm_has_lost_code). If syscall user dispatch traps the check, pm_answer_own_call finds the context
// of the interrupted code in the last argument, `context`. The kernel ignores that argument.
PM_INLINE bool pm_enter_thread_base(struct pm_thread_stand_in *_Nonnull block, const void *_Nullable context) {
  if (!pm_reads_thread_base_storage) return 0;
  uint64_t base = pm_read_thread_base();
  long result = PM_SYSCALL(SYS_rt_sigprocmask, -1, base + offsetof(struct pm_thread_stand_in, canary), 0, sizeof(uint64_t), 0, context);
  if (result != -EFAULT) return 0;
  block->itself = block;
  block->base = base;
  block->canary = PM_STAND_IN_CANARY(block);
  pm_write_thread_base((uint64_t)block);
  return 1;
}
PM_INLINE void pm_leave_thread_base(const struct pm_thread_stand_in *_Nonnull block) { pm_write_thread_base(block->base); }

// Restores the program's FS base register before the handler calls the program's code. Returns the argument for
// pm_take_thread_base_again; 0 if the register was not changed.
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

// Returns the program's thread pointer, even while the thread uses a stand-in.
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

PM_INLINE bool pm_enter_thread_base(struct pm_thread_stand_in *_Nonnull block, const void *_Nullable context) {
  return (void)block, (void)context, 0;
}
PM_INLINE void pm_leave_thread_base(const struct pm_thread_stand_in *_Nonnull block) { (void)block; }
PM_INLINE uint64_t pm_give_thread_base_back(void) { return 0; }
PM_INLINE void pm_take_thread_base_again(uint64_t base) { (void)base; }
PM_INLINE uint64_t pm_thread_pointer(void) {
  uint64_t value;
  __asm__("mrs %0, tpidr_el0" : "=r"(value));
  return value;
}

#endif

// Returns the thread's ID. If a seccomp filter refuses gettid, the number is made from the thread's pointer, so that two
// threads have different numbers; the kernel gives no thread an ID that is as large.
PM_INLINE int pm_gettid(void) {
  long result = pm_syscall_again(SYS_gettid);
  return result < 0 ? (int)(0x40000000 | (pm_thread_pointer() >> 4 & 0x3FFFFFFF)) : (int)result;
}

// The offset, from a thread's pointer, of the word in glibc's thread block that holds the thread's ID; 0 if it is not
// known. When the thread ends, the kernel sets the word to 0, also if a seccomp filter ended the thread. Source:
// set_tid_address(2); glibc nptl/descr.h.
extern int64_t pm_thread_id_offset_storage __attribute__((visibility("hidden")));

// Returns the address of the calling thread's word; 0 if it is not known.
PM_INLINE uint64_t pm_thread_id_place(uint32_t thread) {
  uint64_t place = pm_thread_pointer() + (uint64_t)pm_thread_id_offset_storage;
  if (!pm_thread_id_offset_storage || !pm_is_readable(place)) return 0;
  return (uint32_t)pm_load_word(place) == thread ? place : 0;
}

PM_END_C

#endif
