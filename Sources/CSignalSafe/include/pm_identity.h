// Functions that change and read a thread's file permissions, that examine files, and that look up a user's groups.
// Crash code must not call them.
#ifndef PM_IDENTITY_H
#define PM_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

// Gives a user's file permissions to the calling thread only, for the rest of the thread's life. The thread's other
// user IDs remain those of root, so that the user can neither send signals to the process nor trace it. Returns 0 or
// -errno; after an error, the thread may have only some of the user's permissions, so it must not touch a file.
//
// Raw system calls are used, because libc's setgroups changes all threads. When the file-system user or group of a
// thread changes, the kernel clears the process's dumpable flag. If the flag was set, this function sets it again
// (PR_SET_DUMPABLE), so that the kernel can still write a core file.
//
// Source: setfsuid(2), setgroups(2), "C library/kernel differences"; ptrace(2), "Ptrace access mode checking"; Linux
// kernel/cred.c, commit_creds.
long pm_take_file_rights(uint32_t user, uint32_t group, const uint32_t *_Nonnull groups, size_t count);

// Returns the user whose file permissions the calling thread has.
uint32_t pm_file_user(void);

// Returns whether an open directory is the root of a mount. Before Linux 5.8, a mount's root is not detected if its
// parent directory is on the same file system.
//
// Source: statx(2), STATX_ATTR_MOUNT_ROOT.
int pm_is_mount_root(int directory);

// Returns the magic number of the file system that contains an open file; 0 if the kernel does not show it. Source:
// statfs(2).
uint64_t pm_file_system(int descriptor);

// Stores a user's primary group in `group`, and all groups of the user, including the primary group, in `groups`.
// Returns the number of groups, at most `capacity`; 0 for an unknown user, if there is no memory, and in static
// executables.
size_t pm_groups_of(uint32_t user, uint32_t *_Nonnull group, uint32_t *_Nonnull groups, size_t capacity);

PM_END_C

#endif
