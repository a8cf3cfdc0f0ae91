// Functions for other targets that replace libc functions and need to know the signal masks that the program
// requested.
#ifndef CSIGNALMASKS_H
#define CSIGNALMASKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Blocks, in the kernel, the signals that the calling thread asked to block but that were kept unblocked. Call this
// before creating a thread or program that inherits the mask. Returns these signals; pass them to `pm_open_again`
// afterward.
uint64_t pm_block_as_asked(void);
void pm_open_again(uint64_t signals);

// Returns whether SIGABRT is kept unblocked and has this package's handler. The result is 0 if the program has
// installed its own handler. SIGABRT is then not unblocked, so that the program's handler runs only when it would run
// without this package.
int pm_takes_abort(void);

#ifdef __cplusplus
}
#endif

#endif
