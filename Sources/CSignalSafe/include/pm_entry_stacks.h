// Stacks for handlers that are entered where little of the alternate stack is left. A program may have made it of 8 KiB, of
// which a signal frame with AVX-512 takes 3.4, or handle a signal on it already: the handler would run past its end, fault
// there, and be entered again at its top, for ever.
#ifndef PM_ENTRY_STACKS_H
#define PM_ENTRY_STACKS_H

#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"

typedef void (*pm_signal_handler)(int, void *_Nullable, void *_Nullable);

enum {
  PM_ENTRY_STACKS = 64,
  // The handler takes 5 KiB where it is not optimised, before it goes to a stack of its own.
  PM_ENTRY_STACK_SIZE = 32 << 10,
  // Bytes left below the signal frame from which on it stays where it is.
  PM_ENOUGH_STACK = 16 << 10,
};

// Gives the function to install so that `handler` has stack enough: one for crashes, one for stops, one for the watchdog's timer,
// whose signal comes to the process, and so to any thread that does not stand still yet. In ordinary code; with all stacks
// taken, and before pm_set_entry_stacks, the handler runs where it was entered.
pm_crash_handler _Nonnull pm_crash_entry(pm_crash_handler _Nonnull handler);
pm_signal_handler _Nonnull pm_stop_entry(pm_signal_handler _Nonnull handler);
pm_signal_handler _Nonnull pm_watchdog_entry(pm_signal_handler _Nonnull handler);

// Memory for all of them; NULL takes it away while no handler is installed. Ordinary code.
void pm_set_entry_stacks(void *_Nullable memory);

// In a forked child, whose other threads are gone; the one that the caller stands on stays taken.
PM_CRASH_TIME void pm_forget_entry_stacks(void);

// Where to call what is to run on the stack that the signal came in on; NULL if the caller stands there. It may be left by
// siglongjmp, or another handler be entered meanwhile.
PM_CRASH_TIME void *_Nullable pm_stack_of_signal(void);

#endif
