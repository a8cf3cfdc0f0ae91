// With whose rights a thread uses files. Ordinary code: none of it may be called in a crash.
#ifndef PM_IDENTITY_H
#define PM_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

// Gives the calling thread, and no other one, the rights of a user to files for the rest of its life: owner and group of
// what it makes, and what it may open. Its user IDs stay root's, so that this user can neither signal nor trace it, which
// would be the whole process. Returns 0 or -errno; after an error the thread must not touch a file.
//
// By the kernel's own calls: libc's setgroups changes all threads. Any change of rights takes the process's core file away
// (PR_SET_DUMPABLE); that is undone at once.
//
// Source: setfsuid(2), setgroups(2), "C library/kernel differences"; ptrace(2), "Ptrace access mode checking"; Linux
// kernel/cred.c, commit_creds.
long pm_take_file_rights(uint32_t user, uint32_t group, const uint32_t *_Nonnull groups, size_t count);

// The user whose rights to files the calling thread has.
uint32_t pm_file_user(void);

// The groups of a user: the primary one in `group`, where the system knows the user, and all of them, the primary one
// included, in `groups`. Returns their count, at most `capacity`; 0 where the system does not know the user, and in static
// executables, which cannot ask.
size_t pm_groups_of(uint32_t user, uint32_t *_Nonnull group, uint32_t *_Nonnull groups, size_t capacity);

#endif
