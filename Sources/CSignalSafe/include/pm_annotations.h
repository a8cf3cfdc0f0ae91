// Marks a C declaration as callable from crash-time Swift.
//
// Inside a function marked @_noLocks, the Swift compiler rejects calls to functions without that mark. So crash code
// can call only C functions that have the mark.
#ifndef PM_ANNOTATIONS_H
#define PM_ANNOTATIONS_H

#define PM_CRASH_TIME __attribute__((swift_attr("@_noLocks")))
#define PM_INLINE PM_CRASH_TIME static inline __attribute__((always_inline, unused))

#endif
