#include "pm_told_stacks.h"

#include "CSignalSafe.h"

// In `told_stack`, the highest bit of `size` marks a stack that the handler created.
#define IS_HANDLERS (UINT64_C(1) << 63)

// The record of one thread. Only the thread itself writes the record; `size` is 0 while the record is being written.
struct told_stack {
  uint64_t thread;
  uint64_t base;
  uint64_t size;
};

static struct told_stack stacks[PM_TOLD_STACKS];
static uint64_t has_small_stacks;

static struct told_stack *pm_told_place(int thread, int index) { return &stacks[((unsigned)thread + (unsigned)index) % PM_TOLD_STACKS]; }

static struct told_stack *pm_find_told(int thread) {
  for (int i = 0; i < PM_TOLD_PLACES; i++)
    if (pm_atomic_load_64(&pm_told_place(thread, i)->thread) == (uint64_t)thread) return pm_told_place(thread, i);
  return NULL;
}

// Takes a free entry, or the entry of a thread that has ended without freeing its entry; returns NULL if there is
// none.
static struct told_stack *pm_take_told(int thread) {
  for (int i = 0; i < PM_TOLD_PLACES; i++)
    if (pm_atomic_compare_exchange_64(&pm_told_place(thread, i)->thread, 0, (uint64_t)thread) == 0) return pm_told_place(thread, i);
  int process = pm_getpid();
  for (int i = 0; i < PM_TOLD_PLACES; i++) {
    struct told_stack *stack = pm_told_place(thread, i);
    uint64_t other = pm_atomic_load_64(&stack->thread);
    if (pm_tgkill(process, (int)other, 0) != -ESRCH) continue;
    if (pm_atomic_compare_exchange_64(&stack->thread, other, (uint64_t)thread) == other) return stack;
  }
  return NULL;
}

void pm_tell_stack(int thread, struct pm_told_stack told) {
  struct told_stack *stack = pm_find_told(thread);
  if (told.size == 0) {
    if (!stack) return;
    pm_atomic_store_64(&stack->size, 0);
    pm_atomic_store_64(&stack->thread, 0);
    return;
  }
  if (!stack) stack = pm_take_told(thread);
  if (!stack) return;
  uint64_t size = told.size & ~IS_HANDLERS;
  // A caller that does not know who created the stack may record the same stack again; the entry then keeps the mark
  // IS_HANDLERS.
  if (stack->base == told.base && (stack->size & ~IS_HANDLERS) == size && !told.is_handlers) return;
  pm_atomic_store_64(&stack->size, 0);
  pm_atomic_store_64(&stack->base, told.base);
  pm_atomic_store_64(&stack->size, told.is_handlers ? size | IS_HANDLERS : size);
  if (size < PM_SMALL_STACK) pm_atomic_store_64(&has_small_stacks, 1);
}

void pm_tell_own_stack(void) {
  struct pm_signal_stack stack;
  if (PM_SYSCALL(SYS_sigaltstack, 0, &stack, 0, 0, 0, 0) != 0) return;
  struct pm_told_stack told = {stack.base, stack.flags & PM_SS_DISABLE ? 0 : stack.size, 0};
  pm_tell_stack(pm_gettid(), told);
}

struct pm_told_stack pm_told_stack(int thread) {
  struct pm_told_stack told = {0, 0, 0};
  const struct told_stack *stack = pm_find_told(thread);
  if (!stack) return told;
  uint64_t size = pm_atomic_load_64(&stack->size);
  told.base = pm_atomic_load_64(&stack->base);
  told.size = size & ~IS_HANDLERS;
  told.is_handlers = (size & IS_HANDLERS) != 0;
  return told;
}

uint64_t pm_told_stacks_place(void) { return (uint64_t)stacks; }

bool pm_has_small_stacks(void) { return pm_atomic_load_64(&has_small_stacks) != 0; }
