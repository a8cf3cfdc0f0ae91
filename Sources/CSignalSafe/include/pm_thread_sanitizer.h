// What ThreadSanitizer needs of us. Nothing here does anything in a program without it.
//
// Instrumented code, ours included, notes each call in a shadow stack of 65,536 entries with no check at its end. A recursion
// that overflows the thread's stack has mostly run through that end before: the handler's first call then faults again, and
// again, until its own stack is gone. So the crashing thread runs our handler in a context beside its own, and what is not
// ours, the handlers before us among them, in its own. What the handler reads and writes there is not looked at: a signal handler
// is ordered behind its thread, which ThreadSanitizer cannot know of another context. Source: LLVM compiler-rt/lib/tsan/rtl/tsan_rtl.h (FuncEntry,
// kShadowStackSize), include/sanitizer/tsan_interface.h (fibers).
#ifndef PM_THREAD_SANITIZER_H
#define PM_THREAD_SANITIZER_H

#include "pm_annotations.h"

typedef void (*pm_signal_handler)(int, void *_Nullable, void *_Nullable);

// 1 in a program with ThreadSanitizer.
int pm_is_thread_sanitized(void);

// What to install so that a handler runs: itself, or with ThreadSanitizer what enters the context around it. Once, in ordinary
// code.
pm_signal_handler _Nonnull pm_sanitized_handler(pm_signal_handler _Nonnull handler);

// Goes to the handler's context and back to the thread's. False if there is none, another thread is in it, or it is not to be
// left.
PM_CRASH_TIME _Bool pm_enter_handler_context(void);
PM_CRASH_TIME _Bool pm_leave_handler_context(void);

#endif
