// Records where Swift errors are thrown.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "CSignalSafe.h"

// The runtime's two hooks for throws, which are atomic pointers. Source: swift stdlib/public/runtime/ErrorObject.h
// and Error.cpp.
typedef void (*error_hook)(void *error);
typedef void (*value_hook)(void *value, const void *type, const void *conformance);
extern error_hook _swift_willThrow __attribute__((weak));
extern value_hook _swift_willThrowTypedImpl __attribute__((weak));

// An unowned reference keeps an object's memory allocated, so that no other object gets its address, but does not keep
// the object alive. Source: swift stdlib/public/SwiftShims/swift/shims/RefCount.h.
extern void *swift_unownedRetain(void *object) __attribute__((weak));
extern void swift_unownedRelease(void *object) __attribute__((weak));
extern bool swift_isDeallocating(void *object) __attribute__((weak));

struct pm_thrower pm_throwers_storage[PM_THROWER_COUNT];
uint32_t pm_throwers_taken;

static uint64_t main_end;
// The bounds of the thread's normal stack; 0 before the thread's first throw, or if the bounds are not known.
static _Thread_local uint64_t stack_start, stack_end;
static error_hook next_error_hook;
static value_hook next_value_hook;

// The size, in bytes, of the largest frame that the stack walk accepts; the walk ends at a larger frame.
#define WALK_SIZE 65536
// The bit that marks the saved frame pointer of an asynchronous function. Source: LLVM,
// SwiftAsyncFramePointerMode.
#define ASYNC_MARK (1ull << 60)
// A mask that removes arm64's pointer signature from a code address.
#if defined(__aarch64__)
#define CODE_MASK 0x0000ffffffffffffull
#else
#define CODE_MASK ~0ull
#endif

// Finds the bounds of the calling thread's normal stack. For the main thread, pthread_getattr_np would read
// /proc/self/maps, which takes long. Instead, this function uses `main_end`, and the limit on stack sizes or 128 MiB,
// whichever is smaller, because the kernel maps nothing else within that distance below the stack's end. Source: Linux
// arch/x86/mm/mmap.c, mmap_base().
static void find_stack(void) {
  if (pm_gettid() == getpid()) {
    struct rlimit limit;
    uint64_t size = 128ull << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size) size = limit.rlim_cur;
    if (main_end <= size) return;
    stack_start = main_end - size;
    stack_end = main_end;
    return;
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void *start;
  size_t size;
  if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
    stack_start = (uint64_t)start;
    stack_end = (uint64_t)start + size;
  }
  pthread_attr_destroy(&attributes);
}

// Stores the address of an error's box, holds an unowned reference to the box, and releases the previous one. The store
// is an atomic exchange, because two threads may share an entry, and each reference must be released exactly once.
static void hold(struct pm_thrower *thrower, int place, uint64_t box) {
  if (!swift_unownedRetain || !swift_unownedRelease || !swift_isDeallocating) return;
  if (box) swift_unownedRetain((void *)box);
  uint64_t before = __atomic_exchange_n(&thrower->boxes[place], box, __ATOMIC_ACQ_REL);
  if (before) swift_unownedRelease((void *)before);
}

// Returns the index of the record to overwrite. This is a record without an error or with a released error; if there is
// none, it is the record whose error was thrown longest ago.
static int place_to_use(const struct pm_thrower *thrower) {
  int oldest = 0, unused = -1;
  for (int place = 0; place < PM_THROW_COUNT; place++) {
    uint64_t box = __atomic_load_n(&thrower->boxes[place], __ATOMIC_RELAXED);
    uint32_t touched = thrower->touched[place];
    if ((!box || swift_isDeallocating((void *)box)) && (unused < 0 || touched < thrower->touched[unused])) unused = place;
    if (touched < thrower->touched[oldest]) oldest = place;
  }
  return unused >= 0 ? unused : oldest;
}

// Returns the thread's entry in the table. A thread without an entry takes the entry that was assigned longest ago,
// because the table does not show which threads have ended.
static struct pm_thrower *own_thrower(uint32_t thread) {
  static _Thread_local uint32_t place;
  if (place != 0 && __atomic_load_n(&pm_throwers_storage[place - 1].thread, __ATOMIC_RELAXED) == thread)
    return &pm_throwers_storage[place - 1];
  uint32_t index = __atomic_fetch_add(&pm_throwers_taken, 1, __ATOMIC_RELAXED) % PM_THROWER_COUNT;
  if (stack_end == 0) find_stack();
  struct pm_thrower *thrower = &pm_throwers_storage[index];
  thrower->count = 0;
  for (int place = 0; place < PM_THROW_COUNT; place++) {
    hold(thrower, place, 0);
    thrower->touched[place] = 0;
  }
  // The checksums include the thread's ID, so those of the previous thread's throws no longer match, and its records
  // count as invalid.
  __atomic_store_n(&thrower->thread, thread, __ATOMIC_RELAXED);
  place = index + 1;
  return thrower;
}

static inline __attribute__((always_inline)) void record(uint64_t error, void *start, void *caller) {
  uint32_t thread = (uint32_t)pm_thread_id();
  struct pm_thrower *thrower = own_thrower(thread);
  uint32_t count = ++thrower->count;
  for (int place = 0; error && place < PM_THROW_COUNT; place++)
    if (__atomic_load_n(&thrower->boxes[place], __ATOMIC_RELAXED) == error) {
      // This error was caught and is thrown again, so the record of its first throw is kept.
      thrower->touched[place] = count;
      return;
    }
  struct timespec now;
  // On Linux 5.3 and later, libc reads this clock without a system call.
  clock_gettime(CLOCK_BOOTTIME, &now);
  struct pm_throw made = {
      .uptime = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
      .error = error,
      .addresses = {(uint64_t)caller & CODE_MASK},
  };
  uint64_t frame = (uint64_t)start;
  // On a stack with unknown bounds, such as an alternate stack or a stack that the program created, only the caller is
  // recorded, because an invalid frame pointer could lead out of the stack.
  bool is_known = stack_start <= frame && frame < stack_end;
  for (int count = 1; is_known && count < PM_THROW_ADDRESS_COUNT; count++) {
    uint64_t next = *(const uint64_t *)frame & ~ASYNC_MARK;
    if (next <= frame || next & 7 || next - frame > WALK_SIZE || stack_end - next < 16 || next >= stack_end) break;
    made.addresses[count] = ((const uint64_t *)next)[1] & CODE_MASK;
    frame = next;
  }
  made.check = pm_throw_check(&made, thread);
  int place = place_to_use(thrower);
  hold(thrower, place, error);
  thrower->touched[place] = count;
  thrower->throws[place] = made;
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

bool pm_tells_throws(void) { return &_swift_willThrow != NULL; }

void pm_record_throws(uint64_t main_stack_end) {
  if (!pm_tells_throws()) return;
  error_hook before = __atomic_load_n(&_swift_willThrow, __ATOMIC_ACQUIRE);
  if (before == will_throw) return;
  main_end = main_stack_end;
  __atomic_store_n(&next_error_hook, before, __ATOMIC_RELAXED);
  // If the program has set only _swift_willThrow, the runtime also calls that hook for typed throws. In that case, the
  // hook for typed throws is left unset, so that the runtime still calls _swift_willThrow for them.
  if (&_swift_willThrowTypedImpl) {
    value_hook typed = __atomic_load_n(&_swift_willThrowTypedImpl, __ATOMIC_ACQUIRE);
    __atomic_store_n(&next_value_hook, typed, __ATOMIC_RELAXED);
    if (typed || !before) __atomic_store_n(&_swift_willThrowTypedImpl, will_throw_value, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&_swift_willThrow, will_throw, __ATOMIC_RELEASE);
}
