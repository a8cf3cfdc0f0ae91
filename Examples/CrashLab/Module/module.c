// A module for crash-lab to load: built by the tests with the toolchain's clang, since a package cannot build one beside
// an executable.
#include <stdlib.h>

// Has no code, and its unwind table says so for the place where the next function starts.
void crashlab_module_nothing(void) { __builtin_unreachable(); }

// Has a frame of this module on the stack of the crash.
__attribute__((noinline)) void crashlab_module_call(void (*body)(void *), void *context) {
  body(context);
  __asm__ volatile("");
}

// Calls the address that the environment names, while the loader holds its lock for this module.
__attribute__((constructor)) static void call_program(void) {
  const char *address = getenv("CRASHLAB_CONSTRUCTOR");
  if (address == NULL) return;
  ((void (*)(void))strtoul(address, NULL, 16))();
  __asm__ volatile("");
}
