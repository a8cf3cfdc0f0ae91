// Facts that are known at launch, stored for readers of core files. Not for crash code.
#ifndef PM_CORE_FACTS_H
#define PM_CORE_FACTS_H

#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

// The version of this structure, of the client memory, of the memory for the breadcrumbs of each unit of work, and of
// the contexts; CoreFile/Client reads all of them. Increase this version if any of these layouts changes.
#define PM_CORE_LAYOUT 1

// Core files do not contain the handler's own memory. So this struct points to copies of the parts of a dump that the
// handler encoded at launch.
struct pm_core_facts {
  uint64_t layout;
  const char *_Nullable tokens;
  uint64_t size;
};
extern struct pm_core_facts pm_core_facts_storage __attribute__((visibility("hidden")));

// Copies the encoded maps `process` and `system` of a dump, one after the other, into memory that core files contain.
// If no memory is left for the copies, core files lack these facts.
void pm_keep_core_facts(
    const void *_Nonnull process, uint64_t process_size, const void *_Nonnull system, uint64_t system_size);

PM_END_C

#endif
