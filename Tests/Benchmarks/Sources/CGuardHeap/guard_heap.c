// The slots: pages between guard pages, and a record for each.
//
// Variables of the environment, read at the start:
//   GUARD_HEAP_RATE=N        samples one of N allocations on average; 0 for none (4096)
//   GUARD_HEAP_SLOTS=N       64 to 512 slots (256)
//   GUARD_HEAP_SIDE=SIDE     the end of the page at which allocations lie: left, right or both, at random (both)
//   GUARD_HEAP_PAGES=HOW     guard for MADV_GUARD_INSTALL, protect for mprotect (guard if the kernel has it)
//   GUARD_HEAP_STATISTICS=1  prints statistics to standard error at exit
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

// Source: Linux include/uapi/asm-generic/mman-common.h, since Linux 6.13.
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103
// The guard pages before each slot, and after the last one. Their number makes it unlikely that an access that leaves
// an allocation arrives next to another one.
#define GAP 7
// Every byte of a page outside its allocation has this value.
#define PATTERN 0xA7
// At most this many slots are examined for one allocation.
#define ATTEMPTS 16
// A fault in a guard page belongs to an allocation that is at most this many bytes away.
#define REACH 64

static struct {
  struct guard_heap_record *records;
  uint64_t slots, rate, cursor, sampled, live, no_slot, too_large, seeded_threads;
  uintptr_t page;
  bool is_enabled, has_guards, uses_left, uses_right;
  // What the first failed free found; its address is 0 until then.
  struct guard_heap_explanation found;
} heap;

struct thread {
  uint64_t random;
  bool is_inside;
};
static __thread struct thread me __attribute__((tls_model("initial-exec")));

// The context that swift-postmortem keeps for the current task, if it is part of the same program.
extern void *pm_work_value(void) __attribute__((weak));

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static uint64_t number(const char *text, uint64_t otherwise) { return text ? strtoull(text, NULL, 10) : otherwise; }

// A forked child draws its own random numbers, or all workers would sample the same allocations.
static void forked(void) {
  heap_countdown = 0;
  me = (struct thread){0};
}

__attribute__((constructor)) static void start(void) {
  heap.page = (uintptr_t)getpagesize();
  heap.rate = number(getenv("GUARD_HEAP_RATE"), 4096);
  heap.slots = number(getenv("GUARD_HEAP_SLOTS"), 256);
  if (heap.slots < 64 || heap.slots > 512) heap.slots = 256;
  const char *side = getenv("GUARD_HEAP_SIDE"), *pages = getenv("GUARD_HEAP_PAGES");
  heap.uses_left = !side || strcmp(side, "right");
  heap.uses_right = !side || strcmp(side, "left");
  size_t size = ((GAP + 1) * heap.slots + GAP) * heap.page;
  size_t records = (heap.slots * sizeof(struct guard_heap_record) + heap.page - 1) & -heap.page;
  // The records are last, so that an overflow of the last slot does not reach them.
  char *region = mmap(NULL, size + records, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return;
  heap.has_guards = (!pages || strcmp(pages, "protect")) && madvise(region, size, GUARD_INSTALL) == 0;
  if (!heap.has_guards && mprotect(region, size, PROT_NONE) != 0) {
    munmap(region, size + records);
    return;
  }
  heap.records = (struct guard_heap_record *)(region + size);
  heap_front.base = (uintptr_t)region;
  heap_front.size = size;
  pthread_atfork(NULL, NULL, forked);
  __atomic_store_n(&heap.is_enabled, true, __ATOMIC_RELEASE);
}

__attribute__((destructor)) static void finish(void) {
  if (!getenv("GUARD_HEAP_STATISTICS")) return;
  struct guard_heap_statistics it;
  guard_heap_get_statistics(&it);
  dprintf(
      STDERR_FILENO,
      "guard heap: %s, %lu slots, %lu sampled, %lu live, %lu without a slot, %lu too large, %lu threads\n",
      heap.has_guards ? "guard" : "protect", it.slots, it.sampled, it.live, it.no_slot, it.too_large,
      it.seeded_threads);
}

void guard_heap_get_statistics(struct guard_heap_statistics *it) {
  *it = (struct guard_heap_statistics){
      heap.slots, heap.sampled, heap.live, heap.no_slot, heap.too_large, heap.seeded_threads,
  };
}

static void count(uint64_t *counter, int64_t step) { __atomic_fetch_add(counter, step, __ATOMIC_RELAXED); }

static uint64_t next_random(void) {
  me.random ^= me.random << 13;
  me.random ^= me.random >> 7;
  return me.random ^= me.random << 17;
}

// Sets the number of allocations until the next sample, `rate` on average.
static void draw(void) {
  if (heap.rate == 0) heap_countdown = INT64_MAX;
  else heap_countdown = 1 + (int64_t)(next_random() % (2 * heap.rate - 1));
}

static void note(struct guard_heap_event *event, void *const *frame) {
  event->time = now();
  event->thread = gettid();
  event->frame_count = heap_stack(frame, event->frames, GUARD_HEAP_FRAMES);
  const void *context = pm_work_value ? pm_work_value() : NULL;
  if (context) memcpy(event->context, context, GUARD_HEAP_CONTEXT);
  else memset(event->context, 0, GUARD_HEAP_CONTEXT);
}

static uintptr_t page_of(const struct guard_heap_record *record) {
  return heap_front.base + ((GAP + 1) * (uintptr_t)(record - heap.records) + GAP) * heap.page;
}

static bool open_page(uintptr_t page) {
  if (heap.has_guards) return madvise((void *)page, heap.page, GUARD_REMOVE) == 0;
  return mprotect((void *)page, heap.page, PROT_READ | PROT_WRITE) == 0;
}

// Also discards the page's contents.
static void close_page(uintptr_t page) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (heap.has_guards) madvise((void *)page, heap.page, GUARD_INSTALL);
  else mmap((void *)page, heap.page, PROT_NONE, flags, -1, 0);
}

static bool change(struct guard_heap_record *record, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(&record->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void set(struct guard_heap_record *record, uint32_t state) {
  __atomic_store_n(&record->state, state, __ATOMIC_RELEASE);
}

// Slots are used in turn, so that a freed slot stays closed as long as possible. No lock: a forked child may allocate
// while another thread of its parent was allocating.
static struct guard_heap_record *reserve(void) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    uint64_t index = __atomic_fetch_add(&heap.cursor, 1, __ATOMIC_RELAXED) % heap.slots;
    struct guard_heap_record *record = &heap.records[index];
    if (change(record, GUARD_HEAP_UNUSED, GUARD_HEAP_BUSY) || change(record, GUARD_HEAP_FREED, GUARD_HEAP_BUSY))
      return record;
  }
  return NULL;
}

static void *allocate(size_t size, size_t alignment, void *const *frame) {
  // An address must be valid and unique for a size of 0, too.
  size_t taken = size ? size : 1;
  if (taken > heap.page || alignment > heap.page) return count(&heap.too_large, 1), NULL;
  struct guard_heap_record *record = reserve();
  if (!record) return count(&heap.no_slot, 1), NULL;
  uintptr_t page = page_of(record);
  if (!open_page(page)) return set(record, GUARD_HEAP_UNUSED), NULL;
  bool is_left = !heap.uses_right || (heap.uses_left && next_random() >> 32 & 1);
  uintptr_t address = is_left ? page : (page + heap.page - taken) & -alignment;
  memset((void *)page, PATTERN, address - page);
  memset((void *)(address + taken), PATTERN, page + heap.page - address - taken);
  record->uses++;
  record->address = address;
  record->size = size;
  note(&record->allocated, frame);
  record->freed.time = 0;
  count(&heap.sampled, 1);
  count(&heap.live, 1);
  set(record, GUARD_HEAP_LIVE);
  return (void *)address;
}

void *heap_sample(size_t size, size_t alignment, void *const *frame) {
  heap_countdown = 0;
  if (!__atomic_load_n(&heap.is_enabled, __ATOMIC_ACQUIRE) || me.is_inside) return NULL;
  int before = errno;
  bool is_first = me.random == 0;
  if (is_first) {
    me.random = ((uint64_t)now() ^ (uint64_t)gettid() << 40) * 0x9E3779B97F4A7C15 | 1;
    count(&heap.seeded_threads, 1);
  }
  draw();
  // The first call of a thread only begins the countdown, unless every allocation is sampled.
  if (is_first && heap.rate != 1) return NULL;
  me.is_inside = true;
  void *address = allocate(size, alignment, frame);
  me.is_inside = false;
  errno = before;
  return address;
}

// Ends the process, as the allocator would have done.
static _Noreturn void fail(enum guard_heap_kind kind, uintptr_t address, const struct guard_heap_record *record) {
  uint64_t none = 0;
  if (__atomic_compare_exchange_n(&heap.found.address, &none, address, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    heap.found.record = record;
    heap.found.kind = kind;
  }
  abort();
}

static struct guard_heap_record *record_of(uintptr_t address) {
  uintptr_t page = (address - heap_front.base) / heap.page;
  return page % (GAP + 1) == GAP ? &heap.records[page / (GAP + 1)] : NULL;
}

static struct guard_heap_record *checked(void *address) {
  struct guard_heap_record *record = record_of((uintptr_t)address);
  if (!record || record->address != (uintptr_t)address) fail(GUARD_HEAP_INVALID_FREE, (uintptr_t)address, record);
  if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != GUARD_HEAP_LIVE)
    fail(GUARD_HEAP_DOUBLE_FREE, (uintptr_t)address, record);
  return record;
}

const struct guard_heap_record *heap_checked(void *address) { return checked(address); }

// Returns the first byte between two addresses that has changed since the allocation; 0 if there is none.
static uintptr_t changed(uintptr_t start, uintptr_t end) {
  const unsigned char *bytes = (const unsigned char *)start;
  size_t count = end - start;
  // If each byte is equal to the next one, all are equal to the first.
  if (count == 0 || (bytes[0] == PATTERN && memcmp(bytes, bytes + 1, count - 1) == 0)) return 0;
  while (*bytes == PATTERN) bytes++;
  return (uintptr_t)bytes;
}

void heap_release(void *address, void *const *frame) {
  int before = errno;
  struct guard_heap_record *record = checked(address);
  if (!change(record, GUARD_HEAP_LIVE, GUARD_HEAP_BUSY)) fail(GUARD_HEAP_DOUBLE_FREE, (uintptr_t)address, record);
  bool was_inside = me.is_inside;
  me.is_inside = true;
  note(&record->freed, frame);
  uintptr_t page = page_of(record), start = record->address, end = start + (record->size ? record->size : 1);
  uintptr_t after = changed(end, page + heap.page);
  if (after) fail(GUARD_HEAP_OVERFLOW_AT_FREE, after, record);
  uintptr_t ahead = changed(page, start);
  if (ahead) fail(GUARD_HEAP_UNDERFLOW_AT_FREE, ahead, record);
  size_t size = record->size < sizeof record->first ? record->size : sizeof record->first;
  memset(record->first, 0, sizeof record->first);
  memcpy(record->first, address, size);
  close_page(page);
  count(&heap.live, -1);
  set(record, GUARD_HEAP_FREED);
  me.is_inside = was_inside;
  errno = before;
}

bool guard_heap_explain(uint64_t address, struct guard_heap_explanation *it) {
  if (address == 0) {
    *it = heap.found;
    return it->address != 0;
  }
  uintptr_t offset = address - heap_front.base;
  if (offset >= heap_front.size) return false;
  *it = (struct guard_heap_explanation){GUARD_HEAP_UNEXPLAINED, address, NULL};
  const struct guard_heap_record *record = record_of(address);
  if (record) {
    // A freed page that was never opened again. A fault in a live page has another cause, such as a jump into it.
    if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != GUARD_HEAP_FREED) return true;
    it->kind = GUARD_HEAP_USE_AFTER_FREE;
    it->record = record;
    return true;
  }
  // A guard page. An access further than `REACH` bytes from an allocation may belong to the other neighbor.
  uint64_t slot = offset / heap.page / (GAP + 1), in_gap = offset - slot * (GAP + 1) * heap.page;
  bool is_right = in_gap >= heap.page;
  const struct guard_heap_record *left = slot ? &heap.records[slot - 1] : NULL;
  const struct guard_heap_record *near = !is_right ? left : slot < heap.slots ? &heap.records[slot] : NULL;
  if (!near || near->state != GUARD_HEAP_LIVE) return true;
  uint64_t distance = is_right ? near->address - address : address - near->address - near->size;
  if (distance > REACH) return true;
  it->kind = is_right ? GUARD_HEAP_UNDERFLOW : GUARD_HEAP_OVERFLOW;
  it->record = near;
  return true;
}

const char *guard_heap_kind_name(enum guard_heap_kind kind) {
  static const char *const names[] = {
      "nothing",      "use-after-free",   "overflow",          "underflow",   "double-free",
      "invalid-free", "overflow-at-free", "underflow-at-free", "unexplained",
  };
  return names[kind];
}

static void print_event(const char *name, const struct guard_heap_event *event) {
  long age = (long)((now() - event->time) / 1000000);
  dprintf(STDERR_FILENO, "%s by thread %d, %ld ms ago, context", name, event->thread, age);
  // Source: ContextValue.swift. The text begins at byte 24; each entry is two sizes, a name and a value.
  for (size_t at = 24; at + 2 < GUARD_HEAP_CONTEXT && event->context[at];) {
    int name_count = event->context[at] & 0x7F, value_count = event->context[at + 1];
    const char *text = (const char *)event->context + at + 2;
    if (at + 2 + (size_t)(name_count + value_count) > GUARD_HEAP_CONTEXT) break;
    dprintf(STDERR_FILENO, " %.*s=%.*s", name_count, text, value_count, text + name_count);
    at += 2 + (size_t)(name_count + value_count);
  }
  for (uint32_t i = 0; i < event->frame_count; i++) dprintf(STDERR_FILENO, "\n  %#lx", event->frames[i]);
  dprintf(STDERR_FILENO, "\n");
}

bool guard_heap_first_chance(int signal, void *information, void *context) {
  (void)context;
  struct guard_heap_explanation it;
  const siginfo_t *info = information;
  if (!guard_heap_explain(signal == SIGABRT ? 0 : (uint64_t)(uintptr_t)info->si_addr, &it)) return false;
  dprintf(STDERR_FILENO, "guard heap: %s at %#lx", guard_heap_kind_name(it.kind), it.address);
  if (!it.record) return dprintf(STDERR_FILENO, "\n"), false;
  const struct guard_heap_record *record = it.record;
  uint64_t words[4];
  memcpy(words, record->first, sizeof words);
  dprintf(
      STDERR_FILENO,
      ", %ld bytes into the %lu bytes at %#lx, use %u of the slot; they began with %#lx %#lx\n",
      (long)(it.address - record->address), record->size, record->address, record->uses, words[0], words[1]);
  print_event("allocated", &record->allocated);
  if (record->freed.time) print_event("freed", &record->freed);
  return false;
}
