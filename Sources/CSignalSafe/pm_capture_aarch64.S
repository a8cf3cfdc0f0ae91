// Stores the registers of a thread that takes a dump without a crash; see pm_control.h.
#if defined(__aarch64__)
  .text

// void pm_capture_context(void *context): the offsets of the registers in the context are those in pm_context.h. The
// stored x0 is the argument, and the stored x16 is 0, because this function uses x16 for addresses.
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
  // The stored pc is the return address; the stored pstate has the flags.
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
