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

  .globl pm_call_on_stack
  .hidden pm_call_on_stack
  .type pm_call_on_stack, %function
pm_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov sp, x0
  mov x0, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register sp
  ldp x29, x30, [sp], #16
  ret
  .cfi_endproc
  .size pm_call_on_stack, .-pm_call_on_stack

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

// void pm_capture_context(void *context): the offsets are as in pm_context.h. The stored x0 is this function's
// argument; 0 is stored for x16, which this function uses.
  .globl pm_capture_context
  .hidden pm_capture_context
  .type pm_capture_context, %function
pm_capture_context:
  .cfi_startproc
  add x16, x0, #184
  stp x0, x1, [x16]
  stp x2, x3, [x16, #16]
  stp x4, x5, [x16, #32]
  stp x6, x7, [x16, #48]
  stp x8, x9, [x16, #64]
  stp x10, x11, [x16, #80]
  stp x12, x13, [x16, #96]
  stp x14, x15, [x16, #112]
  stp xzr, x17, [x16, #128]
  stp x18, x19, [x16, #144]
  stp x20, x21, [x16, #160]
  stp x22, x23, [x16, #176]
  stp x24, x25, [x16, #192]
  stp x26, x27, [x16, #208]
  stp x28, x29, [x16, #224]
  mov x17, sp
  stp x30, x17, [x16, #240]
  // The stored pc is the return address; the stored pstate holds the flags.
  mrs x17, nzcv
  stp x30, x17, [x16, #256]
  // struct fpsimd_context: FPSIMD_MAGIC, the size of 528 bytes, fpsr, fpcr, v0 to v31.
  add x16, x0, #464
  mov w17, #0x8001
  movk w17, #0x4650, lsl #16
  str w17, [x16]
  mov w17, #528
  str w17, [x16, #4]
  mrs x17, fpsr
  str w17, [x16, #8]
  mrs x17, fpcr
  str w17, [x16, #12]
  stp q0, q1, [x16, #16]
  stp q2, q3, [x16, #48]
  stp q4, q5, [x16, #80]
  stp q6, q7, [x16, #112]
  stp q8, q9, [x16, #144]
  stp q10, q11, [x16, #176]
  stp q12, q13, [x16, #208]
  stp q14, q15, [x16, #240]
  stp q16, q17, [x16, #272]
  stp q18, q19, [x16, #304]
  stp q20, q21, [x16, #336]
  stp q22, q23, [x16, #368]
  stp q24, q25, [x16, #400]
  stp q26, q27, [x16, #432]
  stp q28, q29, [x16, #464]
  stp q30, q31, [x16, #496]
  ret
  .cfi_endproc
  .size pm_capture_context, .-pm_capture_context

#endif
  .section .note.GNU-stack, "", %progbits
