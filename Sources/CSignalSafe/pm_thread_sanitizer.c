#include "pm_thread_sanitizer.h"

#include "pm_context.h"
#include "pm_system_calls.h"

#include <signal.h>
#include <stddef.h>

// These functions stand between two shadow stacks: a note of their own would be made in one and taken from the other.
#define PM_NOT_INSTRUMENTED __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation))

extern void __tsan_init(void) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
extern void AnnotateIgnoreReadsBegin(const char *file, unsigned long line) __attribute__((weak));
extern void AnnotateIgnoreWritesBegin(const char *file, unsigned long line) __attribute__((weak));

// Nothing is looked at that would need the order, and a synchronizing switch writes to the thread's trace.
enum { no_synchronization = 1 };

// One for each thread that is in the handler; with more at a time, the others stay in their own.
enum { context_count = 8 };
static struct {
  _Atomic(void *) fiber;
  _Atomic(int) is_taken;
  // Of the thread that has taken it.
  void *thread_fiber;
} contexts[context_count];

static pm_crash_handler crash_handler = NULL;

int pm_is_thread_sanitized(void) { return __tsan_init != NULL; }

// The context that the thread is in; -1 if that is its own.
PM_NOT_INSTRUMENTED static int pm_current_context(void) {
  void *fiber = __tsan_get_current_fiber();
  for (int i = 0; i < context_count; i++)
    if (__c11_atomic_load(&contexts[i].fiber, __ATOMIC_ACQUIRE) == fiber) return i;
  return -1;
}

PM_NOT_INSTRUMENTED _Bool pm_enter_handler_context(void) {
  if (!crash_handler || pm_current_context() >= 0) return 0;
  for (int i = 0; i < context_count; i++) {
    void *fiber = __c11_atomic_load(&contexts[i].fiber, __ATOMIC_ACQUIRE);
    if (!fiber || __c11_atomic_exchange(&contexts[i].is_taken, 1, __ATOMIC_ACQ_REL)) continue;
    contexts[i].thread_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber, no_synchronization);
    return 1;
  }
  return 0;
}

PM_NOT_INSTRUMENTED _Bool pm_leave_handler_context(void) {
  if (!crash_handler) return 0;
  int i = pm_current_context();
  if (i < 0) return 0;
  __tsan_switch_to_fiber(contexts[i].thread_fiber, no_synchronization);
  __c11_atomic_store(&contexts[i].is_taken, 0, __ATOMIC_RELEASE);
  return 1;
}

// The actions that a fault in a deep stack is left to.
static struct pm_signal_action previous_segv, previous_bus;

extern void *__libc_stack_end __attribute__((weak));

// Whether there may be more calls on the stack than the shadow stack has entries. A call takes 16 bytes at least. libc puts a
// thread's control block above its stack, but for the main thread; what is farther from both is another stack.
PM_NOT_INSTRUMENTED static _Bool may_have_overflowed(uint64_t stack_pointer) {
  const uint64_t least = 65536 * 16, most = 64 << 20;
  uint64_t above_thread = (uint64_t)__builtin_thread_pointer() - stack_pointer;
  uint64_t above_main = &__libc_stack_end ? (uint64_t)__libc_stack_end - stack_pointer : UINT64_MAX;
  uint64_t used = above_thread < above_main ? above_thread : above_main;
  return used > least && used < most;
}

PM_NOT_INSTRUMENTED static void handle_in_context(int signal, void *information, void *context,
                                                  uint64_t entry_stack_pointer) {
  if ((signal == SIGSEGV || signal == SIGBUS) && pm_siginfo_code(information) > 0 && pm_current_context() < 0 &&
      may_have_overflowed(pm_context_stack_pointer(context))) {
    // The fault comes again, and is ThreadSanitizer's.
    if (pm_sigaction(signal, signal == SIGSEGV ? &previous_segv : &previous_bus, NULL) == 0) return;
  }
  _Bool entered = pm_enter_handler_context();
  crash_handler(signal, information, context, entry_stack_pointer);
  if (entered) pm_leave_handler_context();
}

PM_NOT_INSTRUMENTED pm_crash_handler pm_sanitized_handler(pm_crash_handler handler) {
  if (!__tsan_create_fiber || !__tsan_get_current_fiber || !__tsan_switch_to_fiber || !AnnotateIgnoreReadsBegin ||
      !AnnotateIgnoreWritesBegin)
    return handler;
  (void)pm_sigaction(SIGSEGV, NULL, &previous_segv);
  (void)pm_sigaction(SIGBUS, NULL, &previous_bus);
  void *own = __tsan_get_current_fiber();
  for (int i = 0; i < context_count; i++) {
    if (__c11_atomic_load(&contexts[i].fiber, __ATOMIC_RELAXED)) continue;
    void *fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(fiber, no_synchronization);
    AnnotateIgnoreReadsBegin("pm_thread_sanitizer.c", __LINE__);
    AnnotateIgnoreWritesBegin("pm_thread_sanitizer.c", __LINE__);
    __tsan_switch_to_fiber(own, no_synchronization);
    __c11_atomic_store(&contexts[i].fiber, fiber, __ATOMIC_RELEASE);
  }
  crash_handler = handler;
  return handle_in_context;
}
