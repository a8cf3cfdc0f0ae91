// Control flow that neither Swift nor C can express: switching stacks, and continuing after a fault. The code of
// the functions without a body here is in pm_capture_<architecture>.S (pm_capture_context) or in
// pm_control_<architecture>.S (the others).
#ifndef PM_CONTROL_H
#define PM_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

// The registers with which a thread continues after a fault in a section, which is a function that pm_run_section
// calls. `saved` holds, on x86_64, rbx, rbp, r12 to r15 and the shadow stack pointer; on arm64, x19 to x30.
struct pm_recovery_point {
  uint64_t armed;  // not 0 while the section runs
  uint64_t resume;
  uint64_t stack_pointer;
  uint64_t saved[12];
};

// Calls function(argument) with the stack pointer at `top`, which must be aligned to 16 bytes, and returns on the
// caller's stack. Stores the caller's stack pointer in `left`: the caller's stack is free below that address.
PM_CRASH_TIME void pm_call_leaving_stack(void *_Nonnull top, void (*_Nonnull function)(void *_Nonnull),
                                         void *_Nonnull argument, uint64_t *_Nonnull left);

PM_INLINE void pm_call_on_stack(void *_Nonnull top, void (*_Nonnull function)(void *_Nonnull),
                                void *_Nonnull argument) {
  uint64_t left;
  pm_call_leaving_stack(top, function, argument, &left);
}

// Calls function(argument). Returns 0 if the function returned, or the number of the signal that ended the function.
// The handler of that signal ends the function by passing the recovery point to pm_context_recover. No frames are
// unwound, so the function must not own resources.
PM_CRASH_TIME int pm_run_section(struct pm_recovery_point *_Nonnull point, void (*_Nonnull function)(void *_Nonnull),
                                 void *_Nonnull argument);

// Fills a ucontext_t with the caller's registers as they are when this function returns: the general registers, and
// the floating-point and vector registers that FXSAVE or struct fpsimd_context holds. `context` has
// PM_CAPTURED_CONTEXT_SIZE zeroed bytes, aligned to 16. The caller must not return while the context is in use, because
// the context refers to the caller's frame.
#define PM_CAPTURED_CONTEXT_SIZE 1536
PM_CRASH_TIME void pm_capture_context(void *_Nonnull context);

// The function to install as the crash handler. It jumps to the function that was passed to pm_set_crash_handler,
// with a fourth argument: the stack pointer at entry, which compiled code cannot know; see pm_is_kernels_call.
void pm_enter_crash(int signal, void *_Nullable information, void *_Nullable context);

typedef void (*pm_crash_handler)(int, void *_Nullable, void *_Nullable, uint64_t);
extern _Atomic(pm_crash_handler) pm_crash_handler_storage __attribute__((visibility("hidden")));

// The address after the system call instruction in pm_syscall6, by which a trapped system call of the handler is
// recognized.
extern const char pm_syscall6_return[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
// Continues at a context without rt_sigreturn(2): sets the context's general registers, but keeps the current signal
// mask.
PM_CRASH_TIME __attribute__((noreturn)) void pm_resume(const void *_Nonnull context);
#endif

// Clears the alignment-check flag. The kernel leaves this flag set when it calls a handler, and an unaligned access
// in the handler would then raise SIGBUS. The flag is restored when the handler returns. Source: Linux
// arch/x86/kernel/signal.c, handle_signal.
PM_INLINE void pm_allow_unaligned_access(void) {
#if defined(__x86_64__)
  // The first and the last instruction protect the red zone, the 128 bytes below the stack pointer.
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

// Copies without memcpy, because the first call of memcpy through the PLT would run the dynamic linker's resolver.
PM_INLINE void pm_copy_bytes(void *_Nonnull to, const void *_Nonnull from, size_t count) {
#if defined(__x86_64__)
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
  // The barrier keeps the compiler from replacing the loop with a call of memcpy.
  for (size_t i = 0; i < count; i++) {
    ((char *)to)[i] = ((const char *)from)[i];
    __asm__ volatile("" : : : "memory");
  }
#endif
}

PM_END_C

#endif
