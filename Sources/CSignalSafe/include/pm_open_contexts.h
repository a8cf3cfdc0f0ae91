// The table of the `withContext` calls that have begun and not ended. See Docs/Decisions/17-what-the-program-tells.md.
// Not for crash code, which copies the table as bytes.
//
// Word 0 of the table is 0, which stands for PM_OPEN_CONTEXT_SHARDS shards. Word 1 is the size of the part that has
// ever been used. The shards begin at offset 64, and have 64 bytes each. A shard begins with a word that has one bit
// for each of its entries in use. Two counts of open calls for which there was no free entry follow: outermost calls,
// and nested calls. The entries follow the shards. Bit `row` of a shard stands for entry 8 * row + shard. A call takes
// the lowest free row, so the entries in use are at the beginning of the table. CrashHandler's OpenContext.swift
// defines the layout of an entry.
#ifndef PM_OPEN_CONTEXTS_H
#define PM_OPEN_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

#define PM_OPEN_CONTEXT_SHARDS 8
#define PM_OPEN_CONTEXT_ROWS 63
#define PM_OPEN_CONTEXT_SIZE 128

// Takes an entry for a `withContext` call of the calling thread. Returns the entry's index, or a negative number if all
// entries are in use; the `withContext` call is then only counted.
int64_t pm_claim_open_context(bool is_nested);

// Returns the memory of an entry.
void *_Nonnull pm_open_context(int64_t index);

// Releases the entry whose index pm_claim_open_context returned; for a negative index, only decrements the count of
// calls without an entry. `seal` is the first word that the caller stored in the entry. If the first word has changed,
// this process is a forked child in which another call has taken the entry, so the entry is not released.
void pm_release_open_context(int64_t index, uint64_t seal, bool is_nested);

PM_END_C

#endif
