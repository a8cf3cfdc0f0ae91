// See pm_control.h. Source: AAPCS64, 6.1 (callee-saved x19 to x28, x29 frame pointer, x30 link register). The
// callee-saved halves of v8 to v15 are not restored at a recovery point, because the handler uses no floating point.
#if defined(__aarch64__)

  .text

// void pm_enter_crash(int signal, void *information, void *context)
  .globl pm_enter_crash
  .hidden pm_enter_crash
  .type pm_enter_crash, %function
pm_enter_crash:
  .cfi_startproc
  mov x3, sp
  adrp x16, pm_crash_handler_storage
  ldr x16, [x16, :lo12:pm_crash_handler_storage]
  br x16
  .cfi_endproc
  .size pm_enter_crash, .-pm_enter_crash

// long pm_syscall6(long number, long a, long b, long c, long d, long e, long f)
  .globl pm_syscall6
  .hidden pm_syscall6
  .globl pm_syscall6_return
  .hidden pm_syscall6_return
  .type pm_syscall6, %function
pm_syscall6:
  .cfi_startproc
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
pm_syscall6_return:
  ret
  .cfi_endproc
  .size pm_syscall6, .-pm_syscall6

  .globl pm_call_leaving_stack
  .hidden pm_call_leaving_stack
  .type pm_call_leaving_stack, %function
pm_call_leaving_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  str x29, [x3]
  mov sp, x0
  mov x0, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register sp
  ldp x29, x30, [sp], #16
  ret
  .cfi_endproc
  .size pm_call_leaving_stack, .-pm_call_leaving_stack

  .globl pm_run_section
  .hidden pm_run_section
  .type pm_run_section, %function
pm_run_section:
  .cfi_startproc
  adr x9, .Lresume
  mov x10, sp
  stp x9, x10, [x0, #8]
  stp x19, x20, [x0, #24]
  stp x21, x22, [x0, #40]
  stp x23, x24, [x0, #56]
  stp x25, x26, [x0, #72]
  stp x27, x28, [x0, #88]
  stp x29, x30, [x0, #104]
  mov x9, #1
  str x9, [x0]
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  str x0, [sp, #16]
  mov x29, sp
  mov x9, x1
  mov x0, x2
  blr x9
  ldr x0, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  str xzr, [x0]
  mov w0, #0
.Lresume:
  ret
  .cfi_endproc
  .size pm_run_section, .-pm_run_section

#endif
  .section .note.GNU-stack, "", %progbits
