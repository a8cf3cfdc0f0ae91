// Compares sigaltstack.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../uses/uses.h"
#include "functions.h"

enum { large = 64 << 10, stacks = 9, places = 6, starts = 3 };
static char *memory;

static stack_t stack_of(void *base, size_t size, int flags) {
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = base;
  stack.ss_size = size;
  stack.ss_flags = flags;
  return stack;
}

static stack_t kernels(void) {
  stack_t stack = stack_of(NULL, 0, 0);
  syscall(SYS_sigaltstack, NULL, &stack);
  return stack;
}

static void print(const char *name, stack_t stack) {
  long base = (char *)stack.ss_sp - memory;
  use_say(" %s %ld %zu %x", name, base >= 0 && base < 4 * large ? base : -1, stack.ss_size, (unsigned)stack.ss_flags);
}

static void compare(int which, int place, int start) {
  stack_t starting[starts] = {stack_of(NULL, 0, SS_DISABLE), stack_of(memory, large, 0),
                              stack_of(memory + large, 16 << 10, (int)(1u << 31))};
  stack_t given[stacks] = {
      stack_of(memory + 2 * large, large, 0),
      stack_of(memory + 2 * large, getauxval(AT_MINSIGSTKSZ), 0),
      stack_of(memory + 2 * large, 100, 0),
      stack_of(NULL, 0, SS_DISABLE),
      stack_of(memory, large, 77),
      stack_of(memory + 2 * large, large, (int)(1u << 31)),
      stack_of(NULL, large, 0),
      stack_of(memory + 2 * large, large, SS_ONSTACK),
  };
  // Room for a second stack that overlaps the first by half.
  union {
    stack_t stack;
    char bytes[2 * sizeof(stack_t)];
  } room;
  memset(&room, 0, sizeof room);
  room.stack = which < 8 ? given[which] : starting[0];
  const stack_t *set = which == 8 ? NULL : &room.stack;
  stack_t old = stack_of(NULL, 77, 77);
  stack_t *to = place == 0   ? NULL
                : place == 1 ? &old
                : place == 2 ? &room.stack
                : place == 3 ? functions_nowhere
                : place == 4 ? functions_read_only
                             : (stack_t *)(room.bytes + sizeof(void *));
  if (syscall(SYS_sigaltstack, &starting[start], NULL) != 0) _exit(72);
  errno = 99;
  int result = functions.sigaltstack(set, to);
  use_say("stack %d old %d from %d: %d %d", which, place, start, result, errno);
  print("old", old);
  if (place != 5) print("given", room.stack);
  print("now", kernels());
  use_say("\n");
}

static void compare_in_handler(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  stack_t stack = stack_of(memory + large, large, 0);
  errno = 99;
  int result = functions.sigaltstack(&stack, NULL);
  use_say("in a handler: %d %d", result, errno);
  print("now", kernels());
  use_say("\n");
}

static void pass_nowhere(const void *argument) {
  (void)argument;
  errno = 99;
  int result = functions.sigaltstack(functions_nowhere, NULL);
  use_say("stack nowhere: %d %d\n", result, errno);
}

void functions_compare_stacks(void) {
  memory = mmap(NULL, 4 * large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t own = kernels(), first = stack_of(memory, large, 0);
  for (int which = 0; which < stacks; which++)
    for (int place = 0; place < places; place++)
      for (int start = 0; start < starts; start++) compare(which, place, start);
  functions_in_child("nowhere", pass_nowhere, NULL);
  syscall(SYS_sigaltstack, &first, NULL);
  for (int on_stack = 0; on_stack < 2; on_stack++) {
    use_handle(SIGUSR1, compare_in_handler, on_stack ? SA_ONSTACK : 0);
    raise(SIGUSR1);
    use_say("after it");
    print("now", kernels());
    use_say("\n");
  }
  own.ss_flags &= SS_DISABLE;
  syscall(SYS_sigaltstack, &own, NULL);
}
