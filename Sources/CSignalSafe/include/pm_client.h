// Memory for the program's annotations, breadcrumbs and similar data; ClientMemory.swift defines the layout.
#ifndef PM_CLIENT_H
#define PM_CLIENT_H

#include "pm_annotations.h"

PM_BEGIN_C

// The memory is static, so that it exists before the handler starts, needs no initialization that could race, and is
// copied to forked children. Pages that are never written take no physical memory.
#define PM_CLIENT_MEMORY_SIZE (1 << 20)
extern char pm_client_memory_storage[PM_CLIENT_MEMORY_SIZE] __attribute__((visibility("hidden")));

PM_INLINE void *_Nonnull pm_client_memory(void) { return pm_client_memory_storage; }

PM_END_C

#endif
