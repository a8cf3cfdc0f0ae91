// The handler's state is a C global variable, because in debug builds Swift initializes its global variables lazily
// and checks each access for exclusivity.
#ifndef PM_STATE_H
#define PM_STATE_H

#include "pm_annotations.h"

PM_BEGIN_C

extern _Atomic(void *) pm_state_storage __attribute__((visibility("hidden")));

// Returns the handler's state; NULL until the handler is installed.
PM_INLINE void *pm_state(void) { return __c11_atomic_load(&pm_state_storage, __ATOMIC_ACQUIRE); }

PM_END_C

#endif
