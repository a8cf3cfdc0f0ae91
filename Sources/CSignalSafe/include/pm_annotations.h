// Marks a C declaration as callable from crash-time Swift.
//
// Inside a function marked @_noLocks, the Swift compiler rejects calls to functions without that mark. So crash code
// can call only C functions that have the mark.
#ifndef PM_ANNOTATIONS_H
#define PM_ANNOTATIONS_H

#define PM_CRASH_TIME __attribute__((swift_attr("@_noLocks")))
#define PM_INLINE PM_CRASH_TIME static inline __attribute__((always_inline, unused))

// Each header's declarations are between these two, so that they have C linkage in C++ too: Swift with C++
// interoperability imports the headers as C++.
#ifdef __cplusplus
#define PM_BEGIN_C extern "C" {
#define PM_END_C }
#else
#define PM_BEGIN_C
#define PM_END_C
#endif

#endif
