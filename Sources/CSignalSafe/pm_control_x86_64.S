// See pm_control.h. Source: System V ABI AMD64 supplement, 3.2 (callee-saved registers, stack alignment).
#if defined(__x86_64__)

  .text

// void pm_enter_crash(int signal, void *information, void *context)
  .globl pm_enter_crash
  .hidden pm_enter_crash
  .type pm_enter_crash, @function
pm_enter_crash:
  .cfi_startproc
  movq %rsp, %rcx
  jmpq *pm_crash_handler_storage(%rip)
  .cfi_endproc
  .size pm_enter_crash, .-pm_enter_crash

// long pm_syscall6(long number, long a, long b, long c, long d, long e, long f)
  .globl pm_syscall6
  .hidden pm_syscall6
  .globl pm_syscall6_return
  .hidden pm_syscall6_return
  .type pm_syscall6, @function
pm_syscall6:
  .cfi_startproc
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
pm_syscall6_return:
  retq
  .cfi_endproc
  .size pm_syscall6, .-pm_syscall6

// void pm_resume(void *context): the offsets of the registers in the context are those in pm_context.h. The context's
// stack may be unmapped, so the jump uses iretq, which reads everything it needs from the current stack.
  .globl pm_resume
  .hidden pm_resume
  .type pm_resume, @function
pm_resume:
  .cfi_startproc
  movq %ss, %rax
  pushq %rax
  pushq 160(%rdi)
  pushq 176(%rdi)
  movq %cs, %rax
  pushq %rax
  pushq 168(%rdi)
  .cfi_adjust_cfa_offset 40
  movq 40(%rdi), %r8
  movq 48(%rdi), %r9
  movq 56(%rdi), %r10
  movq 64(%rdi), %r11
  movq 72(%rdi), %r12
  movq 80(%rdi), %r13
  movq 88(%rdi), %r14
  movq 96(%rdi), %r15
  movq 112(%rdi), %rsi
  movq 120(%rdi), %rbp
  movq 128(%rdi), %rbx
  movq 136(%rdi), %rdx
  movq 144(%rdi), %rax
  movq 152(%rdi), %rcx
  movq 104(%rdi), %rdi
  iretq
  .cfi_endproc
  .size pm_resume, .-pm_resume

// void pm_call_leaving_stack(void *top, void (*function)(void *), void *argument, uint64_t *left)
  .globl pm_call_leaving_stack
  .hidden pm_call_leaving_stack
  .type pm_call_leaving_stack, @function
pm_call_leaving_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rsp, (%rcx)
  movq %rdi, %rsp
  movq %rdx, %rdi
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size pm_call_leaving_stack, .-pm_call_leaving_stack

// int pm_run_section(struct pm_recovery_point *point, void (*function)(void *), void *argument)
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
  xorl %eax, %eax
  rdsspq %rax
  movq %rax, 72(%rdi)
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
  retq
// The thread continues here with the signal in eax, and the earlier shadow stack pointer in rcx. If there is a shadow
// stack, it still holds the return addresses of the abandoned frames. These addresses are removed here, because they
// would raise a control protection fault. Swift programs are not marked for shadow stacks (note
// GNU_PROPERTY_X86_FEATURE_1_SHSTK), but may ask the kernel for one. Without a shadow stack, rdssp does nothing.
// Source: Linux Documentation/arch/x86/shstk.rst; Intel SDM, RDSSP and INCSSP; glibc sysdeps/x86_64/__longjmp.S.
.Lresume:
  xorl %edx, %edx
  rdsspq %rdx
  testq %rdx, %rdx
  je 3f
  testq %rcx, %rcx
  je 3f
  subq %rdx, %rcx
  shrq $3, %rcx
  movl $255, %edx
1:
  cmpq %rdx, %rcx
  jbe 2f
  incsspq %rdx
  subq %rdx, %rcx
  jmp 1b
2:
  incsspq %rcx
3:
  retq
  .cfi_endproc
  .size pm_run_section, .-pm_run_section

#endif
  .section .note.GNU-stack, "", @progbits
