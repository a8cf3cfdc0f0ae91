// Functions for other targets that replace functions of libc, and that need the signal masks that a program
// requested.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H

#include <stdint.h>

// Blocks in the kernel the signals that the calling thread asked to block. This is called before a call that passes
// the thread's mask to a new thread or program. Returns the signals that had been unblocked, as the argument of
// `pm_open_again`.
uint64_t pm_block_as_asked(void);
void pm_open_again(uint64_t signals);

// Returns whether SIGABRT has this package's handler. If the program has installed a handler later, that handler runs
// only when it would run without this package. So it does not run in a thread that blocks SIGABRT.
int pm_takes_abort(void);

#endif
