// Sets the handlers, the code range and the entry stacks that pm_entry_stacks.c uses; see pm_entry_stacks.h. Not for
// crash code.
#include "pm_entry_stacks.h"

struct pm_entry_setup pm_entries = {.stack_size = PM_ENTRY_STACK_SIZE};

pm_crash_handler pm_crash_entry(pm_crash_handler handler) {
  pm_entries.crash_handler = handler;
  return pm_run_crash_entry;
}

pm_signal_handler pm_stop_entry(pm_signal_handler handler) {
  pm_entries.stop_handler = handler;
  return pm_run_stop_entry;
}

pm_signal_handler pm_watchdog_entry(pm_signal_handler handler) {
  pm_entries.watchdog_handler = handler;
  return pm_run_watchdog_entry;
}

pm_signal_handler pm_termination_entry(pm_signal_handler handler) {
  pm_entries.termination_handler = handler;
  return pm_run_termination_entry;
}

void pm_set_handler_code(uint64_t start, uint64_t end) {
  pm_entries.code_start = start;
  pm_entries.code_size = end - start;
}

void pm_set_entry_stacks(void *place, uint64_t size) {
  pm_entries.stack_size = size;
  pm_entries.memory = place;
}
