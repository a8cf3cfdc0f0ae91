// The two kinds of code that is not ours and that the handler calls: what the program installed before us, and what it asked to
// be called first. Not inlined, so that the call-graph audit finds each such call in one named function.
#ifndef PM_HANDLERS_H
#define PM_HANDLERS_H

#include <stdint.h>

#include "pm_annotations.h"
#include "pm_thread_base.h"
#include "pm_thread_sanitizer.h"

// Runs a previous handler as the kernel would: also one set by signal(3), without SA_SIGINFO, gets all three arguments.
// Source: Linux arch/x86/kernel/signal_64.c, x64_setup_rt_frame.
PM_OUTWARD void pm_call_previous_handler(uint64_t handler, int signal, void *_Nullable information,
                                         void *_Nullable context) {
  // A handler that leaves by siglongjmp leaves in the context in which sigsetjmp was called.
  _Bool left = pm_leave_handler_context();
  uint64_t base = pm_give_thread_base_back();
  ((void (*)(int, void *, void *))handler)(signal, information, context);
  pm_take_thread_base_again(base);
  if (left) pm_enter_handler_context();
}

// The program's first-chance handler; NULL if there is none.
extern _Atomic(void *) pm_first_chance_storage __attribute__((visibility("hidden")));

PM_INLINE void pm_set_first_chance_handler(void *_Nullable handler) {
  __c11_atomic_store(&pm_first_chance_storage, handler, __ATOMIC_RELEASE);
}

// False where there is none.
PM_OUTWARD _Bool pm_call_first_chance_handler(int signal, void *_Nullable information, void *_Nullable context) {
  void *handler = __c11_atomic_load(&pm_first_chance_storage, __ATOMIC_ACQUIRE);
  if (!handler) return 0;
  _Bool left = pm_leave_handler_context();
  uint64_t base = pm_give_thread_base_back();
  _Bool is_handled = ((_Bool (*)(int, void *, void *))handler)(signal, information, context);
  pm_take_thread_base_again(base);
  if (left) pm_enter_handler_context();
  return is_handled;
}

#endif
