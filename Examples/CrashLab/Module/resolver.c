// A module that calls the program while the loader has not linked the module yet.
static int answer(void) { return 42; }

// Source: System V ABI supplement, STT_GNU_IFUNC.
static int (*resolve(void))(void) {
  void (*const volatile *hook)(void) = (void (*const volatile *)(void))0x2000000000;
  (*hook)();
  __asm__ volatile("");
  return answer;
}

int crashlab_resolved(void) __attribute__((ifunc("resolve")));

int crashlab_module_answer(void) { return crashlab_resolved(); }
