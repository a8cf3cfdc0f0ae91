// Records where Swift errors are thrown.
#include <time.h>

#include "CSignalSafe.h"

// Source: swift stdlib/public/runtime/ErrorObject.h and Error.cpp. Both are atomic pointers.
typedef void (*error_hook)(void *error);
typedef void (*value_hook)(void *value, const void *type, const void *conformance);
extern error_hook _swift_willThrow __attribute__((weak));
extern value_hook _swift_willThrowTypedImpl __attribute__((weak));

struct pm_thrower pm_throwers_storage[PM_THROWER_COUNT];

static uint32_t taken;
static uint64_t main_end;
static error_hook next_error_hook;
static value_hook next_value_hook;

// Bytes of stack that the walk passes at most.
#define WALK_SIZE 65536
// Marks a saved frame pointer of an asynchronous function. Source: swift docs/ABI/CallingConvention (async frames).
#define ASYNC_MARK (1ull << 60)
// Addresses of code without what arm64 signs them with.
#if defined(__aarch64__)
#define CODE_MASK 0x0000ffffffffffffull
#else
#define CODE_MASK ~0ull
#endif

// The thread's place in the table. One that has none takes that of the thread which took one the longest ago: threads that have
// ended tell nobody.
static struct pm_thrower *own_thrower(uint32_t thread) {
  static _Thread_local uint32_t place;
  if (place != 0 && __atomic_load_n(&pm_throwers_storage[place - 1].thread, __ATOMIC_RELAXED) == thread)
    return &pm_throwers_storage[place - 1];
  uint32_t index = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) % PM_THROWER_COUNT;
  struct pm_thrower *thrower = &pm_throwers_storage[index];
  thrower->count = 0;
  // What is there of another thread has a check that does not fit any more.
  __atomic_store_n(&thrower->thread, thread, __ATOMIC_RELAXED);
  place = index + 1;
  return thrower;
}

// The end of the memory above a frame that is the thread's stack for sure; the frame itself on a stack that is not known.
//
// glibc keeps the thread's control block above the stack that it makes, in one mapping.
static uint64_t stack_end(uint64_t frame) {
  uint64_t block = (uint64_t)__builtin_thread_pointer();
  if (frame < block && block - frame < (1ull << 30)) return block;
  return frame < main_end && main_end - frame < (1ull << 30) ? main_end : frame;
}

static inline __attribute__((always_inline)) void record(uint64_t error, void *start, void *caller) {
  uint32_t thread = (uint32_t)pm_thread_id();
  struct pm_thrower *thrower = own_thrower(thread);
  struct timespec now;
  // By libc, which asks no kernel.
  clock_gettime(CLOCK_BOOTTIME, &now);
  struct pm_throw made = {
      .uptime = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
      .error = error,
      .addresses = {(uint64_t)caller & CODE_MASK},
  };
  uint64_t frame = (uint64_t)start;
  uint64_t end = stack_end(frame);
  if (end - frame > WALK_SIZE) end = frame + WALK_SIZE;
  for (int count = 1; count < PM_THROW_ADDRESS_COUNT; count++) {
    uint64_t next = *(const uint64_t *)frame & ~ASYNC_MARK;
    if (next <= frame || next & 7 || next > end - 16 || end < 16) break;
    made.addresses[count] = ((const uint64_t *)next)[1] & CODE_MASK;
    frame = next;
  }
  made.check = pm_throw_check(&made, thread);
  thrower->throws[thrower->count++ % PM_THROW_COUNT] = made;
}

static void will_throw(void *error) {
  record((uint64_t)error, __builtin_frame_address(0), __builtin_return_address(0));
  error_hook next = __atomic_load_n(&next_error_hook, __ATOMIC_RELAXED);
  if (next) next(error);
}

static void will_throw_value(void *value, const void *type, const void *conformance) {
  record(0, __builtin_frame_address(0), __builtin_return_address(0));
  value_hook next = __atomic_load_n(&next_value_hook, __ATOMIC_RELAXED);
  if (next) next(value, type, conformance);
}

_Bool pm_tells_throws(void) { return &_swift_willThrow != NULL; }

void pm_record_throws(uint64_t main_stack_end) {
  if (!pm_tells_throws()) return;
  error_hook before = __atomic_load_n(&_swift_willThrow, __ATOMIC_ACQUIRE);
  if (before == will_throw) return;
  main_end = main_stack_end;
  __atomic_store_n(&next_error_hook, before, __ATOMIC_RELAXED);
  // Who has the first hook alone is told of typed throws by it, and still is.
  if (&_swift_willThrowTypedImpl) {
    value_hook typed = __atomic_load_n(&_swift_willThrowTypedImpl, __ATOMIC_ACQUIRE);
    __atomic_store_n(&next_value_hook, typed, __ATOMIC_RELAXED);
    if (typed || !before) __atomic_store_n(&_swift_willThrowTypedImpl, will_throw_value, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&_swift_willThrow, will_throw, __ATOMIC_RELEASE);
}
