// A module whose loading comes to the program before it is linked.
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
