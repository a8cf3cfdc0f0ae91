// Jumps to addresses without code, stacks that a single frame exhausts, and words of memory.
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CCrashLab.h"

// An empty statement after the last call keeps the compiler from turning it into a jump, which
// would take the function off the stack.
#define STAY_ON_THE_STACK __asm__ volatile("")

void *crashlab_address(uintptr_t value) {
  __asm__ volatile("" : "+r"(value));
  return (void *)value;
}

__attribute__((noinline)) void crash_null_call(void) {
  void (*volatile function)(void) = NULL;
  function();
  STAY_ON_THE_STACK;
}

__attribute__((noinline)) void crash_execute_data(void) {
  unsigned char *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return;
  data[0] = 0xc3;  // what would be a return instruction on x86_64, if the page were executable
  void (*volatile function)(void) = (void (*)(void))data;
  function();
  STAY_ON_THE_STACK;
}

#if defined(__x86_64__)
// A misaligned load traps only while the alignment-check flag is set. Source: Intel SDM volume 3, 6.15 (#AC).
__attribute__((noinline)) void crash_misaligned(void) {
  uint64_t words[2] = {1, 2};
  uint64_t value;
  __asm__ volatile(
      "pushfq\n\t"
      "orq $0x40000, (%%rsp)\n\t"
      "popfq\n\t"
      "movq 1(%1), %0\n\t"
      : "=r"(value)
      : "r"(words)
      : "memory", "cc");
  STAY_ON_THE_STACK;
}
#else
void crash_misaligned(void) {}
#endif

// Larger than any stack of these threads, and larger than all mapped memory; its far end is
// accessed first. With 256 MiB, the far end was once in writable memory, and nothing crashed.
__attribute__((noinline)) void crash_huge_frame(void) {
  volatile char bytes[0x7fff0000];
  bytes[0] = 1;
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

// Grows in steps smaller than a guard page. Larger steps could skip the guard and overwrite the
// control block of the thread whose stack is mapped below. The kernel finds that thread's
// restartable sequences there, and would kill the process at the next signal to that thread,
// whatever the handlers.
__attribute__((noinline)) void crash_alloca(void) {
  for (;;) {
    char *bytes = alloca(2048);
    memset(bytes, 1, 2048);
    __asm__ volatile("" : : "r"(bytes) : "memory");
  }
}

// A handler that uses no stack. On arm64, the first instruction is `bti c`.
__attribute__((naked)) static void return_immediately(int signal) {
#if defined(__x86_64__)
  __asm__("ret");
#else
  __asm__("hint #34\n\tret");
#endif
}

// Raises a signal after each step of 512 bytes, until the signal's frame does not fit on the stack. A signal frame is
// larger than a step, and its handler uses no stack, so no instruction faults before.
__attribute__((noinline)) void crash_full_stack_signal(void) {
  struct sigaction action = {.sa_handler = return_immediately};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  sigaction(SIGUSR2, &action, NULL);
  for (;;) {
    char *bytes = alloca(512);
    memset(bytes, 1, 512);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    raise(SIGUSR2);
  }
}

void crashlab_print_words(const char *name, const void *object, uint64_t metadata) {
  const uint64_t *words = object;
  dprintf(
      STDOUT_FILENO, "memory %s %#lx %#lx %#lx %#lx %#lx %#lx\n", name, (unsigned long)(uintptr_t)object,
      (unsigned long)metadata, (unsigned long)words[0], (unsigned long)words[1], (unsigned long)words[2],
      (unsigned long)words[3]);
}
