// Reads and changes the machine context of a signal frame. This code is in C, because Swift's Glibc module lacks the
// REG_* constants, imports the register array as a tuple, and leaves out the macros for siginfo_t. The offsets are
// part of the kernel's ABI. The file pm_layout.c compares them with the system's headers, which cannot be included
// here (see pm_system_calls.h).
#ifndef PM_CONTEXT_H
#define PM_CONTEXT_H

#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"
#include "pm_system_calls.h"

PM_BEGIN_C

#define PM_SIGINFO_CODE 8
#define PM_SIGINFO_ADDRESS 16
#define PM_SIGINFO_SENDER 16
#define PM_SIGINFO_TIMER 16
#define PM_SIGINFO_VALUE 24

PM_INLINE int pm_siginfo_number(const void *information) { return *(const int *)information; }
PM_INLINE void pm_set_siginfo_number(void *information, int number) { *(int *)information = number; }
PM_INLINE int pm_siginfo_code(const void *information) {
  return *(const int *)((const char *)information + PM_SIGINFO_CODE);
}
PM_INLINE uint64_t pm_siginfo_address(const void *information) {
  return *(const uint64_t *)((const char *)information + PM_SIGINFO_ADDRESS);
}
// Returns si_pid, the ID of the process that sent the signal.
PM_INLINE int pm_siginfo_sender(const void *information) {
  return *(const int *)((const char *)information + PM_SIGINFO_SENDER);
}
// Returns si_timerid, the ID of the timer that sent the signal.
PM_INLINE int pm_siginfo_timer(const void *information) {
  return *(const int *)((const char *)information + PM_SIGINFO_TIMER);
}
// Returns si_value, the value that was queued with the signal.
PM_INLINE uint64_t pm_siginfo_value(const void *information) {
  return *(const uint64_t *)((const char *)information + PM_SIGINFO_VALUE);
}

#if defined(__x86_64__)

// gregset_t: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags, cs|gs|fs|ss, err, trapno, oldmask, cr2.
#define PM_GENERAL_REGISTERS_SIZE 184

// Indexes into gregset_t. The REG_* constants in glibc need _GNU_SOURCE, which a header cannot define.
enum {
  PM_R9 = 1, PM_R12 = 4, PM_R13 = 5, PM_R14 = 6, PM_R15 = 7, PM_RBX = 11, PM_RCX = 14, PM_RFLAGS = 17,
  PM_FRAME_POINTER = 10, PM_RESULT = 13, PM_STACK_POINTER = 15, PM_INSTRUCTION_POINTER = 16,
};

// Offsets in ucontext_t.
#define PM_CONTEXT_REGISTERS 40
#define PM_CONTEXT_FLOATING_POINT 224
#define PM_CONTEXT_SIGNAL_MASK 296
// The size in bytes of the kernel's struct ucontext; in the signal frame, the siginfo follows it. The size of glibc's
// ucontext_t cannot be used, because that structure is larger.
#define PM_CONTEXT_SIZE 304
// The offset of the ucontext_t in the signal frame; see pm_is_kernels_call.
#define PM_CONTEXT_IN_FRAME 8

#elif defined(__aarch64__)

// x0 to x30, sp, pc and pstate, which are contiguous in struct sigcontext.
#define PM_GENERAL_REGISTERS_SIZE 272

// Indexes into these registers.
enum { PM_FRAME_POINTER = 29, PM_LINK_REGISTER = 30, PM_RESULT = 0, PM_STACK_POINTER = 31, PM_INSTRUCTION_POINTER = 32 };

// Offsets in ucontext_t.
#define PM_CONTEXT_REGISTERS 184
#define PM_CONTEXT_FLOATING_POINT 464
// The number of bytes that the records starting at PM_CONTEXT_FLOATING_POINT may take; each record begins with its
// magic number and size.
#define PM_CONTEXT_RESERVED 4096
#define PM_CONTEXT_SIGNAL_MASK 40
// The offset of the ucontext_t in the signal frame; see pm_is_kernels_call.
#define PM_CONTEXT_IN_FRAME 128

#endif

PM_INLINE uint64_t *pm_context_registers(const void *context) {
  return (uint64_t *)((const char *)context + PM_CONTEXT_REGISTERS);
}
PM_INLINE uint64_t pm_context_register(const void *context, long index) { return pm_context_registers(context)[index]; }
PM_INLINE void pm_context_set_register(void *context, long index, uint64_t value) {
  pm_context_registers(context)[index] = value;
}

#if defined(__x86_64__)

// Returns the address of the XSAVE area; NULL if the kernel saved none.
PM_INLINE const void *pm_context_floating_point(const void *context) {
  return *(const void *const *)((const char *)context + PM_CONTEXT_FLOATING_POINT);
}
// Returns the size of the whole XSAVE area in bytes, including FP_XSTATE_MAGIC2 at its end. The size comes from the
// software-reserved bytes at offset 464; without a valid size there, the result is 512. `area` is a copy of the first
// 512 bytes. Source: Linux arch/x86/include/uapi/asm/sigcontext.h.
PM_INLINE uint32_t pm_floating_point_size(const void *area) {
  const uint32_t *reserved = (const uint32_t *)((const char *)area + 464);
  if (reserved[0] != 0x46505853u || reserved[1] < 512 || reserved[1] > 16384) return 512;
  return reserved[1];
}
// Makes the handler return to the recovery point instead of the faulting instruction.
PM_INLINE void pm_context_recover(void *context, const struct pm_recovery_point *point, int signal) {
  uint64_t *registers = pm_context_registers(context);
  registers[PM_INSTRUCTION_POINTER] = point->resume;
  registers[PM_STACK_POINTER] = point->stack_pointer;
  registers[PM_RBX] = point->saved[0];
  registers[PM_FRAME_POINTER] = point->saved[1];
  registers[PM_R12] = point->saved[2];
  registers[PM_R13] = point->saved[3];
  registers[PM_R14] = point->saved[4];
  registers[PM_R15] = point->saved[5];
  registers[PM_RCX] = point->saved[6];
  registers[PM_RESULT] = (uint64_t)signal;
  registers[PM_RFLAGS] &= ~UINT64_C(0x400);  // the ABI wants the direction flag clear on return
}

#elif defined(__aarch64__)

// Returns the address of struct fpsimd_context, the first record in the reserved area. The record has a head (8
// bytes), fpsr, fpcr, and v0 to v31.
PM_INLINE const void *pm_context_floating_point(const void *context) {
  return (const char *)context + PM_CONTEXT_FLOATING_POINT;
}
// Returns the size of struct fpsimd_context in bytes; 0 if `area`, a copy of its first 512 bytes, does not begin with
// FPSIMD_MAGIC.
PM_INLINE uint32_t pm_floating_point_size(const void *area) {
  const uint32_t *head = (const uint32_t *)area;
  return head[0] == 0x46508001u ? 528 : 0;
}
// Returns the exception syndrome (ESR) of a fault, from the esr_context record in the reserved area; 0 without that
// record.
// Source: Linux arch/arm64/include/uapi/asm/sigcontext.h; arch/arm64/kernel/signal.c, setup_sigframe.
PM_INLINE uint64_t pm_context_fault_syndrome(const void *context) {
  const char *area = (const char *)context + PM_CONTEXT_FLOATING_POINT;
  for (uint32_t offset = 0; offset <= PM_CONTEXT_RESERVED - 16;) {
    const uint32_t *head = (const uint32_t *)(area + offset);
    if (head[0] == 0x45535201u) return *(const uint64_t *)(head + 2);
    if (head[0] == 0 || head[1] < 16 || head[1] % 16 != 0 || head[1] > PM_CONTEXT_RESERVED) return 0;
    offset += head[1];
  }
  return 0;
}
PM_INLINE void pm_context_recover(void *context, const struct pm_recovery_point *point, int signal) {
  uint64_t *registers = pm_context_registers(context);
  for (int i = 0; i < 12; i++) registers[19 + i] = point->saved[i];
  registers[PM_STACK_POINTER] = point->stack_pointer;
  registers[PM_INSTRUCTION_POINTER] = point->resume;
  registers[PM_RESULT] = (uint64_t)signal;
}
#endif

// Returns whether the kernel called this handler directly, and no other handler called it. `entry_stack_pointer` is
// the stack pointer at the handler's entry. If the kernel called the handler, the signal frame is directly above that
// stack pointer; otherwise the other handler's frame is in between.
//
// Source: Linux arch/x86/include/asm/sigframe.h (return address, ucontext), arch/arm64/kernel/signal.c (siginfo of 128
// bytes, ucontext).
PM_INLINE int pm_is_kernels_call(const void *context, uint64_t entry_stack_pointer) {
  return (uint64_t)context - entry_stack_pointer == PM_CONTEXT_IN_FRAME;
}

// The stack_t of the alternate stack that the kernel sets when the handler returns. So the return from the handler
// undoes the handler's own calls of sigaltstack(2). Source: Linux kernel/signal.c, restore_altstack.
#define PM_CONTEXT_SIGNAL_STACK 16
PM_INLINE const struct pm_signal_stack *pm_context_signal_stack(const void *context) {
  return (const struct pm_signal_stack *)((const char *)context + PM_CONTEXT_SIGNAL_STACK);
}
// Returns 1 if the interrupted code ran on the alternate stack.
PM_INLINE int pm_context_is_on_signal_stack(const void *context) {
  const struct pm_signal_stack *stack = pm_context_signal_stack(context);
  return pm_context_register(context, PM_STACK_POINTER) - stack->base < stack->size;
}
// Returns approximately the caller's stack pointer.
PM_INLINE uint64_t pm_stack_pointer(void) { return (uint64_t)__builtin_frame_address(0); }
// Makes the alternate stack in the context the thread's alternate stack now, as the return from the handler would,
// because the handler may leave through siglongjmp instead of returning.
PM_INLINE long pm_restore_signal_stack(const void *context) {
  struct pm_signal_stack stack = *pm_context_signal_stack(context);
  if (stack.size == 0) stack.flags = PM_SS_DISABLE;  // a thread without one
  return PM_SYSCALL(SYS_sigaltstack, &stack, 0, 0, 0, 0, 0);
}
PM_INLINE void pm_context_set_signal_stack(void *context, uint64_t base, size_t size) {
  struct pm_signal_stack *stack = (struct pm_signal_stack *)((char *)context + PM_CONTEXT_SIGNAL_STACK);
  stack->base = base;
  stack->flags = 0;
  stack->size = size;
}

// Returns the signal mask that is restored when the handler returns.
PM_INLINE uint64_t pm_context_signal_mask(const void *context) {
  return *(const uint64_t *)((const char *)context + PM_CONTEXT_SIGNAL_MASK);
}
PM_INLINE void pm_context_set_signal_mask(void *context, uint64_t mask) {
  *(uint64_t *)((char *)context + PM_CONTEXT_SIGNAL_MASK) = mask;
}

PM_END_C

#endif
