// Functions for other targets that replace libc's functions and need the masks that a program requested.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H

#include <stdint.h>

// Blocks in the kernel the signals that the calling thread asked to block, for a call that passes its mask to a new
// thread or program. Returns the signals that were unblocked, for `pm_open_again`.
uint64_t pm_block_as_asked(void);
void pm_open_again(uint64_t signals);

// Returns whether SIGABRT has this package's handler. A handler that the program installed later runs as it would
// without this package: not in a thread that blocks the signal.
int pm_takes_abort(void);

#endif
