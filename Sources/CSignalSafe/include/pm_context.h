// Reading and changing the machine context of a signal frame. In C because the Glibc overlay has no REG_* and imports the
// register array as a tuple, and because siginfo_t's fields are macros over a union.
#ifndef PM_CONTEXT_H
#define PM_CONTEXT_H

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "pm_annotations.h"
#include "pm_control.h"

PM_INLINE int pm_siginfo_code(const void *information) { return ((const siginfo_t *)information)->si_code; }
PM_INLINE int pm_siginfo_errno(const void *information) { return ((const siginfo_t *)information)->si_errno; }
PM_INLINE uint64_t pm_siginfo_address(const void *information) {
  return (uint64_t)((const siginfo_t *)information)->si_addr;
}

// The mask that returning from the handler will restore.
PM_INLINE uint64_t pm_context_signal_mask(const void *context) {
  return *(const uint64_t *)&((const ucontext_t *)context)->uc_sigmask;
}

#if defined(__x86_64__)

// gregset_t: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags, cs|gs|fs|ss, err, trapno, oldmask, cr2.
#define PM_GENERAL_REGISTERS_SIZE 184

// The places in that array; glibc's REG_* exist only under _GNU_SOURCE, which a header cannot ask for.
enum {
  PM_R12 = 4, PM_R13 = 5, PM_R14 = 6, PM_R15 = 7, PM_RBP = 10, PM_RBX = 11, PM_RAX = 13, PM_RSP = 15, PM_RIP = 16,
  PM_RFLAGS = 17,
};

PM_INLINE const void *pm_context_general_registers(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.gregs;
}
PM_INLINE uint64_t pm_context_instruction_pointer(const void *context) {
  return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[PM_RIP];
}
PM_INLINE uint64_t pm_context_stack_pointer(const void *context) {
  return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[PM_RSP];
}
// The XSAVE area; NULL where the kernel saved none.
PM_INLINE const void *pm_context_floating_point(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.fpregs;
}
// Source: Linux arch/x86/include/uapi/asm/sigcontext.h: the software-reserved bytes at 464 of the FXSAVE area hold a magic
// number and the size of the whole area, FP_XSTATE_MAGIC2 at its end included. `area` is the first 512 bytes, copied.
PM_INLINE uint32_t pm_floating_point_size(const void *area) {
  const uint32_t *reserved = (const uint32_t *)((const char *)area + 464);
  if (reserved[0] != 0x46505853u || reserved[1] < 512 || reserved[1] > 16384) return 512;
  return reserved[1];
}
// Makes returning from the handler go to the landing pad instead of the faulting instruction.
PM_INLINE void pm_context_land(void *context, const struct pm_landing_pad *pad, int signal) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  registers[PM_RIP] = (greg_t)pad->resume;
  registers[PM_RSP] = (greg_t)pad->stack_pointer;
  registers[PM_RBX] = (greg_t)pad->saved[0];
  registers[PM_RBP] = (greg_t)pad->saved[1];
  registers[PM_R12] = (greg_t)pad->saved[2];
  registers[PM_R13] = (greg_t)pad->saved[3];
  registers[PM_R14] = (greg_t)pad->saved[4];
  registers[PM_R15] = (greg_t)pad->saved[5];
  registers[PM_RAX] = signal;
  registers[PM_RFLAGS] &= ~0x400;  // the ABI wants the direction flag clear on return
}
// The calling thread's control block.
PM_INLINE uint64_t pm_thread_pointer(void) {
  uint64_t value;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

#elif defined(__aarch64__)

// x0 to x30, sp, pc, pstate: contiguous in struct sigcontext.
#define PM_GENERAL_REGISTERS_SIZE 272

PM_INLINE const void *pm_context_general_registers(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.regs;
}
PM_INLINE uint64_t pm_context_instruction_pointer(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.pc;
}
PM_INLINE uint64_t pm_context_stack_pointer(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.sp;
}
// struct fpsimd_context, which the kernel always writes first into the reserved area: head (8 bytes), fpsr, fpcr, v0 to v31.
PM_INLINE const void *pm_context_floating_point(const void *context) {
  return ((const ucontext_t *)context)->uc_mcontext.__reserved;
}
// `area` is the first 512 bytes, copied.
PM_INLINE uint32_t pm_floating_point_size(const void *area) {
  const uint32_t *head = (const uint32_t *)area;
  return head[0] == 0x46508001u ? 528 : 0;
}
PM_INLINE void pm_context_land(void *context, const struct pm_landing_pad *pad, int signal) {
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  for (int i = 0; i < 12; i++) machine->regs[19 + i] = pad->saved[i];
  machine->sp = pad->stack_pointer;
  machine->pc = pad->resume;
  machine->regs[0] = (uint64_t)signal;
}
PM_INLINE uint64_t pm_thread_pointer(void) {
  uint64_t value;
  __asm__("mrs %0, tpidr_el0" : "=r"(value));
  return value;
}

#endif
#endif
