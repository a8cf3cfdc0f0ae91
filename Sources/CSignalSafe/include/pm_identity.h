// The rights of a thread to files. Not for crash code.
#ifndef PM_IDENTITY_H
#define PM_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

// Gives the calling thread alone the rights of a user to files, for the rest of its life. Its user IDs stay root's, so that
// the user can neither signal nor trace the process. Returns 0 or -errno; after an error the thread must not touch a file.
//
// Uses raw system calls, because libc's setgroups changes all threads. A change of rights clears PR_SET_DUMPABLE, which is set
// again at once so that the process keeps its core file.
//
// Source: setfsuid(2), setgroups(2), "C library/kernel differences"; ptrace(2), "Ptrace access mode checking"; Linux
// kernel/cred.c, commit_creds.
long pm_take_file_rights(uint32_t user, uint32_t group, const uint32_t *_Nonnull groups, size_t count);

// Returns the user whose rights to files the calling thread has.
uint32_t pm_file_user(void);

// Tells whether an open directory is the root of a mount. Before Linux 5.8 one of the same file system as the directory above
// it does not show.
//
// Source: statx(2), STATX_ATTR_MOUNT_ROOT.
int pm_is_mount_root(int directory);

// Returns the magic number of the file system that an open file is on; 0 if the kernel does not tell. Source: statfs(2).
uint64_t pm_file_system(int descriptor);

// Stores the primary group of a user to `group`, and all groups, that one included, to `groups`. Returns their count, at most
// `capacity`; 0 for an unknown user, and in static executables.
size_t pm_groups_of(uint32_t user, uint32_t *_Nonnull group, uint32_t *_Nonnull groups, size_t capacity);

#endif
