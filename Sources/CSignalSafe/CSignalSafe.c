// The variables that crash code starts from, and those that pthread_create does.
#include "CSignalSafe.h"

_Atomic(void *) pm_state_storage = 0;
_Atomic(void *) pm_first_chance_storage = 0;
_Atomic(pm_thread_start_function) pm_thread_start_storage = 0;
_Atomic(uint32_t) pm_plain_creations_storage = 0;
// Zeros.
char pm_client_memory_storage[PM_CLIENT_MEMORY_SIZE] __attribute__((aligned(4096)));
