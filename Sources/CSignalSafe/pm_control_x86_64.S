// See pm_control.h. Source: System V ABI AMD64 supplement, 3.2 (callee-saved registers, stack alignment).
#if defined(__x86_64__)

  .text

// void pm_call_on_stack(void *top, void (*function)(void *), void *argument)
  .globl pm_call_on_stack
  .hidden pm_call_on_stack
  .type pm_call_on_stack, @function
pm_call_on_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %rsp
  movq %rdx, %rdi
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size pm_call_on_stack, .-pm_call_on_stack

// int pm_run_section(struct pm_landing_pad *pad, void (*function)(void *), void *argument)
  .globl pm_run_section
  .hidden pm_run_section
  .type pm_run_section, @function
pm_run_section:
  .cfi_startproc
  leaq .Lresume(%rip), %rax
  movq %rax, 8(%rdi)
  movq %rsp, 16(%rdi)
  movq %rbx, 24(%rdi)
  movq %rbp, 32(%rdi)
  movq %r12, 40(%rdi)
  movq %r13, 48(%rdi)
  movq %r14, 56(%rdi)
  movq %r15, 64(%rdi)
  movq $1, (%rdi)
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  movq %rsi, %rax
  movq %rdx, %rdi
  callq *%rax
  popq %rdi
  .cfi_adjust_cfa_offset -8
  movq $0, (%rdi)
  xorl %eax, %eax
.Lresume:
  retq
  .cfi_endproc
  .size pm_run_section, .-pm_run_section

#endif
  .section .note.GNU-stack, "", @progbits
