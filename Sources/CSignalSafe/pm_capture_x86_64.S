// Stores the registers of a thread that takes a dump without a crash; see pm_control.h.
#if defined(__x86_64__)
  .text

// void pm_capture_context(void *context): the offsets of the registers in the context are those in pm_context.h.
  .globl pm_capture_context
  .hidden pm_capture_context
  .type pm_capture_context, @function
pm_capture_context:
  .cfi_startproc
  movq %r8, 40(%rdi)
  movq %r9, 48(%rdi)
  movq %r10, 56(%rdi)
  movq %r11, 64(%rdi)
  movq %r12, 72(%rdi)
  movq %r13, 80(%rdi)
  movq %r14, 88(%rdi)
  movq %r15, 96(%rdi)
  movq %rdi, 104(%rdi)
  movq %rsi, 112(%rdi)
  movq %rbp, 120(%rdi)
  movq %rbx, 128(%rdi)
  movq %rdx, 136(%rdi)
  movq %rax, 144(%rdi)
  movq %rcx, 152(%rdi)
  leaq 8(%rsp), %rax
  movq %rax, 160(%rdi)
  movq (%rsp), %rax
  movq %rax, 168(%rdi)
  pushfq
  .cfi_adjust_cfa_offset 8
  popq 176(%rdi)
  .cfi_adjust_cfa_offset -8
  movw %cs, 184(%rdi)
  leaq 1024(%rdi), %rax
  movq %rax, 224(%rdi)
  fxsave64 1024(%rdi)
  movq 144(%rdi), %rax
  retq
  .cfi_endproc
  .size pm_capture_context, .-pm_capture_context

#endif
  .section .note.GNU-stack, "", @progbits
