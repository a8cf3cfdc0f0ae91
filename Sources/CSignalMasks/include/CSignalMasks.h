// What other targets that stand before libc's functions need of the masks that a program has asked for.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H

#include <stdint.h>

// Blocks in the kernel what the calling thread has asked to block, for a call that hands its mask on to a thread or program.
// Returns the signals that were open, for `pm_open_again`.
uint64_t pm_block_as_asked(void);
void pm_open_again(uint64_t signals);

// Tells whether our handler is the one of SIGABRT: a handler that the program installed after ours runs as alone, not in a
// thread that blocks the signal.
int pm_takes_abort(void);

#endif
