#include "pm_core_facts.h"

#include <stdlib.h>
#include <string.h>

struct pm_core_facts pm_core_facts_storage = {PM_CORE_LAYOUT, 0, 0};

void pm_keep_core_facts(const void *process, uint64_t process_size, const void *system, uint64_t system_size) {
  char *copy = malloc(process_size + system_size);
  if (!copy) return;
  memcpy(copy, process, process_size);
  memcpy(copy + process_size, system, system_size);
  pm_core_facts_storage.tokens = copy;
  pm_core_facts_storage.size = process_size + system_size;
}
