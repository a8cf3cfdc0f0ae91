// Stacks for handlers that are entered with little room left on the alternate stack. A program's alternate stack may
// have only 8 KiB, of which a signal frame with AVX-512 takes 3.4 KiB, or the program may already be handling a
// signal on it. Without an entry stack, the handler would overflow the stack, fault, and be entered again at the top
// of the stack, forever.
#ifndef PM_ENTRY_STACKS_H
#define PM_ENTRY_STACKS_H

#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"

PM_BEGIN_C

typedef void (*pm_signal_handler)(int, void *_Nullable, void *_Nullable);

enum {
  PM_ENTRY_STACKS = 64,
  // In a debug build, the handler uses 5 KiB before it switches to its large stack. If signal frames are large, entry
  // stacks are larger than this size.
  PM_ENTRY_STACK_SIZE = 32 << 10,
};

// The values that are set before a handler is installed; see pm_entry_setup.c.
struct pm_entry_setup {
  pm_crash_handler _Nullable crash_handler;
  pm_signal_handler _Nullable stop_handler;
  pm_signal_handler _Nullable watchdog_handler;
  pm_signal_handler _Nullable termination_handler;
  // The thread pointer of the thread whose trapped system calls are all answered, because it starts the handler;
  // otherwise 0.
  uint64_t starting_thread;
  // The address range of the handler's code.
  uint64_t code_start;
  uint64_t code_size;
  // The memory for all entry stacks, and the size of each; NULL while no handler is installed.
  char *_Nullable memory;
  uint64_t stack_size;
};
extern struct pm_entry_setup pm_entries __attribute__((visibility("hidden")));

// Each of these functions calls the corresponding handler in `pm_entries`, with enough stack.
void pm_run_crash_entry(int signal, void *_Nullable information, void *_Nullable context, uint64_t entry_stack_pointer)
    __attribute__((visibility("hidden")));
void pm_run_stop_entry(int signal, void *_Nullable information, void *_Nullable context)
    __attribute__((visibility("hidden")));
void pm_run_watchdog_entry(int signal, void *_Nullable information, void *_Nullable context)
    __attribute__((visibility("hidden")));
void pm_run_termination_entry(int signal, void *_Nullable information, void *_Nullable context)
    __attribute__((visibility("hidden")));

// The handler of SIGSYS while the handler is started (pm_begin_start). If the call of another thread was trapped, the
// process ends as by the default action.
void pm_answer_trap(int signal, void *_Nullable information, void *_Nullable context)
    __attribute__((visibility("hidden")));

// Each of these functions returns the function to install as the signal's handler. The installed function gives
// `handler` enough stack, with the right alignment. The four functions are for crashes, for stopping threads, for the
// watchdog's timer (whose signal any thread may get), and for signals that ask the process to end. If all entry stacks
// are in use, or before pm_set_entry_stacks, the handler runs on the stack on which it was entered. Crash code must not
// call these functions.
pm_crash_handler _Nonnull pm_crash_entry(pm_crash_handler _Nonnull handler);
pm_signal_handler _Nonnull pm_stop_entry(pm_signal_handler _Nonnull handler);
pm_signal_handler _Nonnull pm_watchdog_entry(pm_signal_handler _Nonnull handler);
pm_signal_handler _Nonnull pm_termination_entry(pm_signal_handler _Nonnull handler);

// Sets the memory for all entry stacks, of `size` bytes each. NULL removes the memory, and is allowed only while no
// handler is installed. A handler uses an entry stack only if less than half of `size` is left on the alternate stack
// on which it was called. Crash code must not call this function.
void pm_set_entry_stacks(void *_Nullable memory, uint64_t size);

// Sets the address range of the handler's code. If instruction fetches in this range fault too often in a crash, the
// next such fault ends the process. Crash code must not call this function.
void pm_set_handler_code(uint64_t start, uint64_t end);

// Marks all entry stacks except the caller's as unused; called in a forked child, where the other threads do not exist.
PM_CRASH_TIME void pm_forget_entry_stacks(void);

// Returns a stack pointer on the stack on which the signal arrived; NULL if the caller already runs on that stack. Code
// outside the handler is called on that stack, and not on an entry stack, because it may leave through siglongjmp, and
// other handlers may interrupt it.
PM_CRASH_TIME void *_Nullable pm_stack_of_signal(void);

PM_END_C

#endif
