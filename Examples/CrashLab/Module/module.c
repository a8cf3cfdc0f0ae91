// A module that crash-lab loads. The tests build it with the toolchain's clang, because a package
// cannot build a module next to an executable.
#include <stdlib.h>

// Secrets in each part of a module's file; `Tests/Proofs/Privacy` looks for them in dumps.
__attribute__((used)) static const char constant[] = "jR2-cns-Wd6Km9Tz";
__attribute__((used)) static char variable[] = "nD4-vrb-Qx3Vt8Lk";
__asm__(".text\n.asciz \"tX7-text-Bz5Hp2Lk\"\n.balign 16\n"
        ".section .secrets,\"a\"\n.asciz \"sE9-sct-Gf4Nw6Rp\"\n.text");

// A function without code; its entry in the unwind table is for the address at which the next
// function starts.
void crashlab_module_nothing(void) { __builtin_unreachable(); }

// A function whose frame is on the stack of the crash.
__attribute__((noinline)) void crashlab_module_call(void (*body)(void *), void *context) {
  body(context);
  __asm__ volatile("");
}

// Calls the address in the environment variable, while the loader holds its lock for this module.
__attribute__((constructor)) static void call_program(void) {
  const char *address = getenv("CRASHLAB_CONSTRUCTOR");
  if (address == NULL) return;
  ((void (*)(void))strtoul(address, NULL, 16))();
  __asm__ volatile("");
}
