#ifndef CLIMIT_H
#define CLIMIT_H

#include <stdint.h>

// Starts `count` threads that sleep in pause(), each with `touched` bytes of its stack in use.
int limit_start_threads(int count, int touched);

// Starts `count` threads that never sleep.
int limit_start_busy_threads(int count);

// Makes `count` mappings of one page each.
int limit_make_mappings(int count);

// Returns the path of a library of 13 KB that the process has loaded, libBlocksRuntime; empty if it has not.
const char *limit_small_library(void);

// Stops every other thread with a signal and a futex. Then writes to `descriptor` the top of each
// stopped stack, /proc/self/maps, and as many more bytes as `file_bytes` requires, and resumes the
// threads. Returns nanoseconds, or -1 if writing failed; sets `bytes` to the number of written
// bytes.
int64_t limit_capture(int descriptor, int64_t file_bytes, int64_t *bytes);

// The monotonic clock, in nanoseconds.
int64_t limit_now(void);

// Forks and executes `path` with `arguments` and `environment`; if `has_core`, without a limit on
// the size of core files. The child's working directory is `directory`, its standard error is the
// file `errors` there, its standard output /dev/null. Returns the process ID, or -1.
int limit_spawn(const char *path, char *const *arguments, char *const *environment, const char *directory, int has_core);

// Ends the process by a null write, and stores the time directly before it at `*instant` (shared
// memory).
void limit_crash(volatile int64_t *instant);

#endif
