// Defines variables of crash code and of this package's replacements for libc functions.
#include "CSignalSafe.h"

_Atomic(void *) pm_state_storage = 0;
_Atomic(void *) pm_first_chance_storage = 0;
#if defined(__x86_64__)
uint32_t pm_reads_thread_base_storage = 0;
#endif
_Atomic(pm_crash_handler) pm_crash_handler_storage = 0;
_Atomic(pm_thread_start_function) pm_thread_start_storage = 0;
_Atomic(uint32_t) pm_plain_creations_storage = 0;
char pm_client_memory_storage[PM_CLIENT_MEMORY_SIZE] __attribute__((aligned(4096)));
_Atomic(pm_process_end_function) pm_process_end_storage = 0;
_Atomic(pm_continuation_function) pm_continuation_storage = 0;
int (*pm_follows_exits_storage)(void) = 0;
_Atomic(uint64_t) pm_kept_open_storage = 0;
int pm_replaces_masks_storage = 0;
_Atomic(int) pm_has_raised_storage = 0;
_Atomic(int) pm_stop_signal_storage = 0;
