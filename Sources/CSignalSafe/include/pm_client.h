// What the program tells of itself while it runs, in a layout that ClientMemory.swift knows.
#ifndef PM_CLIENT_H
#define PM_CLIENT_H

#include "pm_annotations.h"

// Static, so that it is there before the handler is, needs no initialisation that could race, and is a forked child's own;
// pages that are never written cost nothing.
#define PM_CLIENT_MEMORY_SIZE (1 << 20)
extern char pm_client_memory_storage[PM_CLIENT_MEMORY_SIZE] __attribute__((visibility("hidden")));

PM_INLINE void *_Nonnull pm_client_memory(void) { return pm_client_memory_storage; }

#endif
