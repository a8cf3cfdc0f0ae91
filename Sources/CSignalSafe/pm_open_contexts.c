// Takes and releases the entries of the table of open contexts, without locks.
#include <pthread.h>

#include "CSignalSafe.h"

#define SHARDS PM_OPEN_CONTEXT_SHARDS
#define ALL_TAKEN ((1ull << PM_OPEN_CONTEXT_ROWS) - 1)

// Each shard has its own cache line, so that threads of different shards do not compete.
struct shard {
  uint64_t taken;
  // The numbers of open `withContext` calls that found no free row in any shard: outermost calls, then nested calls.
  uint64_t left_out[2];
  uint64_t unused[5];
};

struct table {
  uint64_t shard_count, used;
  uint64_t unused[6];
  struct shard shards[SHARDS];
  char entries[SHARDS * PM_OPEN_CONTEXT_ROWS][PM_OPEN_CONTEXT_SIZE];
};
_Static_assert(sizeof(struct table) == PM_OPEN_CONTEXTS_SIZE, "the size in pm_work.h");

char pm_open_contexts_storage[PM_OPEN_CONTEXTS_SIZE] __attribute__((aligned(4096)));

static struct table *table(void) { return (struct table *)pm_open_contexts_storage; }

// Notes that entries up to the end of a row have been used; readers copy only these rows.
static void use(uint64_t row) {
  uint64_t end = sizeof(struct table) - sizeof(table()->entries) + (row + 1) * SHARDS * PM_OPEN_CONTEXT_SIZE;
  uint64_t used = __atomic_load_n(&table()->used, __ATOMIC_RELAXED);
  while (used < end &&
         !__atomic_compare_exchange_n(&table()->used, &used, end, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

// Releases all entries; called in a forked child, which lacks its parent's other threads.
static void clear(void) {
  for (int shard = 0; shard < SHARDS; shard++) {
    __atomic_store_n(&table()->shards[shard].taken, 0, __ATOMIC_RELAXED);
    for (int kind = 0; kind < 2; kind++) __atomic_store_n(&table()->shards[shard].left_out[kind], 0, __ATOMIC_RELAXED);
  }
}

// Chooses a shard for the calling thread; the first thread also registers `clear`.
static uint32_t choose_shard(void) {
  static uint32_t next_shard;
  uint32_t number = __atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED);
  // If the C library has no memory to register `clear`, a forked child also lists its parent's contexts.
  if (number == 0) pthread_atfork(NULL, NULL, clear);
  return number % SHARDS;
}

int64_t pm_claim_open_context(bool is_nested) {
  // The number of the thread's shard plus 1; 0 until the thread has a shard.
  static _Thread_local uint32_t own_shard;
  if (own_shard == 0) own_shard = 1 + choose_shard();
  uint32_t shard = own_shard - 1;
  for (int tried = 0; tried < SHARDS; tried++, shard = (shard + 1) % SHARDS) {
    uint64_t *taken = &table()->shards[shard].taken;
    uint64_t old = __atomic_load_n(taken, __ATOMIC_RELAXED);
    while (old != ALL_TAKEN) {
      uint64_t row = (uint64_t)__builtin_ctzll(~old);
      if (!__atomic_compare_exchange_n(taken, &old, old | 1ull << row, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
      use(row);
      return (int64_t)(row * SHARDS + shard);
    }
  }
  __atomic_fetch_add(&table()->shards[shard].left_out[is_nested], 1, __ATOMIC_RELAXED);
  return -1 - (int64_t)shard;
}

void *pm_open_context(int64_t index) { return table()->entries[index]; }

void pm_release_open_context(int64_t index, uint64_t seal, bool is_nested) {
  if (index < 0) {
    uint64_t *count = &table()->shards[-1 - index].left_out[is_nested];
    uint64_t old = __atomic_load_n(count, __ATOMIC_RELAXED);
    // In a child that was forked after pm_claim_open_context had incremented the count, `clear` has set it to 0, so it
    // is not decremented.
    while (old != 0 && !__atomic_compare_exchange_n(count, &old, old - 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return;
  }
  uint64_t *entry = pm_open_context(index);
  if (__atomic_load_n(entry, __ATOMIC_RELAXED) != seal) return;
  __atomic_store_n(entry, 0, __ATOMIC_RELAXED);
  __atomic_fetch_and(&table()->shards[index % SHARDS].taken, ~(1ull << index / SHARDS), __ATOMIC_RELEASE);
}
