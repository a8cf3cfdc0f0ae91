// Support for ThreadSanitizer. Nothing here does anything in a program without it.
//
// Instrumented code, ours included, notes each call in a shadow stack of 65,536 entries with no check at its end, and a
// recursion goes through that end: into whatever lies behind it, or into nothing, where the handler's first call faults again
// until its own stack is gone. A fault so deep is left to ThreadSanitizer: there is no dump, and the end is that of the program
// alone. Handled all the same, it hung in one of 50 runs, waiting for a lock of ThreadSanitizer's.
//
// All others are handled in a context beside the thread's own, and what is not ours, the handlers before us among them, runs in
// the thread's. What the handler reads and writes in its context is not looked at: that two threads' crashes are handled one
// after the other, ThreadSanitizer does not see, and a process that survived them exited with 66. Source: LLVM
// compiler-rt/lib/tsan/rtl/tsan_rtl.h (FuncEntry, kShadowStackSize), include/sanitizer/tsan_interface.h (fibers).
#ifndef PM_THREAD_SANITIZER_H
#define PM_THREAD_SANITIZER_H

#include "pm_annotations.h"
#include "pm_control.h"

// 1 in a program with ThreadSanitizer.
int pm_is_thread_sanitized(void);

// Returns the function to enter so that a handler runs: itself, or with ThreadSanitizer one that enters the context around it.
// To be called once, in ordinary code.
pm_crash_handler _Nonnull pm_sanitized_handler(pm_crash_handler _Nonnull handler);

// Goes to a context of the handler's and back to the thread's. False if the thread is there already, or all are taken.
PM_CRASH_TIME _Bool pm_enter_handler_context(void);
PM_CRASH_TIME _Bool pm_leave_handler_context(void);

#endif
