// Facts that are known at launch, stored for readers of core files. Not for crash code.
#ifndef PM_CORE_FACTS_H
#define PM_CORE_FACTS_H

#include <stdint.h>

// The version of this structure, of the client memory, of the memory for the breadcrumbs of each unit of work, and of
// the contexts; CoreFile/Client reads all of them. Increase this version if any of these layouts changes.
#define PM_CORE_LAYOUT 1

// The handler's own memory is not in core files, so this memory has copies of the tokens that were encoded at launch.
struct pm_core_facts {
  uint64_t layout;
  const char *_Nullable tokens;
  uint64_t size;
};
extern struct pm_core_facts pm_core_facts_storage __attribute__((visibility("hidden")));

// Keeps a copy of the tokens of the process map, followed by a copy of those of the system map. Without memory for the
// copies, core files lack the tokens.
void pm_keep_core_facts(
    const void *_Nonnull process, uint64_t process_size, const void *_Nonnull system, uint64_t system_size);

#endif
