// Control flow that neither Swift nor C can express: changing stacks, and coming back from a fault. Each has its code in
// pm_control_<architecture>.S.
#ifndef PM_CONTROL_H
#define PM_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

// What a section of the handler comes back to when it faults. x86_64 saves rbx rbp r12 to r15 and the shadow stack pointer; arm64
// x19 to x30.
struct pm_landing_pad {
  uint64_t armed;  // not 0 while the section runs
  uint64_t resume;
  uint64_t stack_pointer;
  uint64_t saved[12];
};

// Calls function(argument) with the stack pointer at `top` (16-byte aligned) and comes back to the caller's stack.
PM_CRASH_TIME void pm_call_on_stack(void *_Nonnull top, void (*_Nonnull function)(void *_Nonnull),
                                    void *_Nonnull argument);

// The same, and notes where the caller's stack was left: what is called there may use it from that address down.
PM_CRASH_TIME void pm_call_leaving_stack(void *_Nonnull top, void (*_Nonnull function)(void *_Nonnull),
                                         void *_Nonnull argument, uint64_t *_Nonnull left);

// Calls function(argument). Returns 0 when it returned, or the number of the signal that ended it: the handler, entered
// again by that signal, passes the pad to pm_context_land. What the function held is not undone, so it may hold nothing.
PM_CRASH_TIME int pm_run_section(struct pm_landing_pad *_Nonnull pad, void (*_Nonnull function)(void *_Nonnull),
                                 void *_Nonnull argument);

// Fills a ucontext_t with the caller's own registers, as they will be when this returns: the general ones, and the floating
// point and vector ones that the architecture's first save area holds. `context` is PM_CAPTURED_CONTEXT_SIZE zeroed bytes,
// aligned to 16; the frame of the caller must stay until the context is no longer used.
#define PM_CAPTURED_CONTEXT_SIZE 1536
PM_CRASH_TIME void pm_capture_context(void *_Nonnull context);

// The crash handler as the kernel calls it: goes on to what pm_set_crash_handler was given, with the stack pointer of this
// entry as a fourth argument. No compiled function knows it, and it alone tells whether the kernel has called or another
// handler: see pm_is_kernels_call. A jump, not a call, so that the return is the kernel's or that handler's own.
void pm_enter_crash(int signal, void *_Nullable information, void *_Nullable context);

typedef void (*pm_crash_handler)(int, void *_Nullable, void *_Nullable, uint64_t);
extern _Atomic(pm_crash_handler) pm_crash_handler_storage __attribute__((visibility("hidden")));

// Before pm_enter_crash is installed.
static inline void pm_set_crash_handler(pm_crash_handler _Nonnull handler) {
  __c11_atomic_store(&pm_crash_handler_storage, handler, __ATOMIC_RELEASE);
}

// Lets the handler access memory that is not aligned. The kernel clears the direction flag for a handler but not the
// alignment-check flag: in a program that has set it, the handler's first unaligned access would be SIGBUS (crash-lab's
// kind "misaligned" lost its dump so). Returning from the handler restores the flag. Source: Linux
// arch/x86/kernel/signal.c, handle_signal.
PM_INLINE void pm_allow_unaligned_access(void) {
#if defined(__x86_64__)
  // The push must not go over the 128 bytes below the stack pointer that the compiler may be using.
  __asm__ volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushfq\n\t"
      "andq $~0x40000, (%%rsp)\n\t"
      "popfq\n\t"
      "leaq 128(%%rsp), %%rsp"
      :
      :
      : "memory", "cc");
#endif
}

// memcpy is reached through the PLT, whose first call runs the dynamic linker's resolver. This is not.
PM_INLINE void pm_copy_bytes(void *_Nonnull to, const void *_Nonnull from, size_t count) {
#if defined(__x86_64__)
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
  // The barrier keeps the compiler from recognising a memcpy and calling it.
  for (size_t i = 0; i < count; i++) {
    ((char *)to)[i] = ((const char *)from)[i];
    __asm__ volatile("" : : : "memory");
  }
#endif
}

// Whether bytes are the same; not memcmp, for the reason above. They may be written meanwhile, hence atomic: then the answer
// is either, and the caller finds out.
PM_INLINE int pm_bytes_equal(const void *_Nonnull left, const void *_Nonnull right, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (__atomic_load_n((const char *)left + i, __ATOMIC_RELAXED) !=
        __atomic_load_n((const char *)right + i, __ATOMIC_RELAXED)) {
      return 0;
    }
  }
  return 1;
}

#endif
