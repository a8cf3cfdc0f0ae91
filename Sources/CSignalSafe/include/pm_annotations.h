// Marks a C declaration as callable from crash-time Swift.
//
// Swift's compiler rejects, inside a function marked @_noLocks, every call to something that does not carry the same
// mark. So the functions in this module's headers *are* the list of what crash code may call; anything else does not
// compile.
#ifndef PM_ANNOTATIONS_H
#define PM_ANNOTATIONS_H

#define PM_CRASH_TIME __attribute__((swift_attr("@_noLocks")))
#define PM_INLINE PM_CRASH_TIME static inline __attribute__((always_inline, unused))

#endif
