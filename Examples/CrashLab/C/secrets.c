// Secrets in places that the compiler would not choose: in registers, as long as the called code
// preserves them.
#include <string.h>

#include "CCrashLab.h"

// Secrets in the program's file, to which nothing points. A dump has the code around return addresses, so the one in
// the code is a page away from functions.
__attribute__((used)) static const char constant[] = "iC4-const-Hz6Bn8Vd";
__attribute__((used)) static char variable[] = "iD7-data-Kw5Rm2Xp";
__asm__(".text\n.skip 4096\n.asciz \"iT9-text-Gc4Jf6Qs\"\n.skip 4096\n.balign 16");

#define STAY_ON_THE_STACK __asm__ volatile("")

__attribute__((noinline)) void crashlab_plant(
    void (*body)(void *), void *context, const char *text, const uint64_t *words, const char *vector) {
  char buffer[256] = {0};
  strncpy(buffer, text, sizeof buffer - 1);
  // A copy on the stack, even if no register is saved there.
  uint64_t copies[6];
  memcpy(copies, words, sizeof copies);
  __asm__ volatile("" : : "r"(buffer), "r"(copies) : "memory");
#if defined(__x86_64__)
  __asm__ volatile(
      "movdqu (%%rdx), %%xmm6\n\t"
      "movdqa %%xmm6, %%xmm8\n\t"
      "movdqa %%xmm6, %%xmm11\n\t"
      "movdqa %%xmm6, %%xmm15\n\t"
      "movq 0(%%rsi), %%rbx\n\t"
      "movq 8(%%rsi), %%r12\n\t"
      "movq 16(%%rsi), %%r13\n\t"
      "movq 24(%%rsi), %%r14\n\t"
      "movq 32(%%rsi), %%r15\n\t"
      "callq *%%rax\n\t"
      :
      : "a"(body), "D"(context), "S"(words), "d"(vector)
      : "rbx", "r12", "r13", "r14", "r15", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#elif defined(__aarch64__)
  register void *first __asm__("x0") = context;
  register const uint64_t *second __asm__("x1") = words;
  register const char *third __asm__("x2") = vector;
  register void (*fourth)(void *) __asm__("x3") = body;
  __asm__ volatile(
      "ldr q8, [x2]\n\t"
      "ldr q24, [x2]\n\t"
      "ldp x19, x20, [x1]\n\t"
      "ldp x21, x22, [x1, #16]\n\t"
      "ldp x23, x24, [x1, #32]\n\t"
      "blr x3\n\t"
      : "+r"(first), "+r"(second), "+r"(third), "+r"(fourth)
      :
      : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20",
        "x21", "x22", "x23", "x24", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
        "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
        "v28", "v29", "v30", "v31", "memory", "cc");
#endif
  __asm__ volatile("" : : "r"(buffer), "r"(copies) : "memory");
  memset(copies, 0, sizeof copies);
  STAY_ON_THE_STACK;
}
