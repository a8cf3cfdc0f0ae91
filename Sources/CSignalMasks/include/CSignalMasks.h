// Functions for other targets, which replace functions of libc and need the masks that a program requested.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H

#include <stdint.h>

// Really blocks, in the kernel, the signals that the calling thread asked to block; called before a call that passes
// the thread's mask to a new thread or program. Returns the signals that were unblocked, for `pm_open_again`.
uint64_t pm_block_as_asked(void);
void pm_open_again(uint64_t signals);

// Returns whether SIGABRT has this package's handler. If the program has installed a handler later, that handler runs
// only when it would run without this package, so not in a thread that blocks the signal.
int pm_takes_abort(void);

#endif
