// Functions that call code outside the handler: previous handlers, and the program's first-chance handler. These
// functions are not inlined, so that the call-graph audit finds each such call in one named function.
#ifndef PM_HANDLERS_H
#define PM_HANDLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"
#include "pm_entry_stacks.h"
#include "pm_thread_base.h"

PM_BEGIN_C

// The arguments of a call from the handler to code outside it, such as a previous handler. Such a call is made on the
// stack on which the signal arrived.
struct pm_outward_call {
  uint64_t handler;
  int signal;
  bool is_handled;
  void *_Nullable information;
  void *_Nullable context;
};

PM_OUTWARD void pm_call_outward(void (*_Nonnull function)(void *_Nonnull), struct pm_outward_call *_Nonnull call) {
  uint64_t base = pm_give_thread_base_back();
  void *stack = pm_stack_of_signal();
  if (stack) {
    pm_call_on_stack(stack, function, call);
  } else {
    function(call);
  }
  pm_take_thread_base_again(base);
}

PM_OUTWARD void pm_run_previous_handler(void *_Nonnull argument) {
  struct pm_outward_call *call = (struct pm_outward_call *)argument;
  ((void (*)(int, void *, void *))call->handler)(call->signal, call->information, call->context);
}

// Calls a previous handler as the kernel would: even a handler without SA_SIGINFO gets all three arguments.
// Source: Linux arch/x86/kernel/signal_64.c, x64_setup_rt_frame.
PM_OUTWARD void pm_call_previous_handler(uint64_t handler, int signal, void *_Nullable information,
                                         void *_Nullable context) {
  struct pm_outward_call call = {handler, signal, 0, information, context};
  pm_call_outward(pm_run_previous_handler, &call);
}

// The program's first-chance handler; NULL if there is none.
extern _Atomic(void *) pm_first_chance_storage __attribute__((visibility("hidden")));

PM_INLINE bool pm_has_first_chance_handler(void) {
  return __c11_atomic_load(&pm_first_chance_storage, __ATOMIC_ACQUIRE) != 0;
}

PM_OUTWARD void pm_run_first_chance_handler(void *_Nonnull argument) {
  struct pm_outward_call *call = (struct pm_outward_call *)argument;
  call->is_handled =
      ((bool (*)(int, void *, void *))call->handler)(call->signal, call->information, call->context);
}

// Calls the program's first-chance handler, and returns its result; returns false if there is no such handler.
PM_OUTWARD bool pm_call_first_chance_handler(int signal, void *_Nullable information, void *_Nullable context) {
  uint64_t handler = (uint64_t)__c11_atomic_load(&pm_first_chance_storage, __ATOMIC_ACQUIRE);
  struct pm_outward_call call = {handler, signal, 0, information, context};
  if (handler != 0) pm_call_outward(pm_run_first_chance_handler, &call);
  return call.is_handled;
}

PM_END_C

#endif
