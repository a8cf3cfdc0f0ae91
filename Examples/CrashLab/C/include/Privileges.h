// Privileges and system calls that a process loses after its handler has started.
#ifndef CCRASHLAB_PRIVILEGES_H
#define CCRASHLAB_PRIVILEGES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

void condition_drop_user(void);
void condition_change_root(void);
void condition_not_dumpable(void);
// From now on, the system calls of a group kill the process, on every thread.
void condition_kill_on_calls(const char *_Nonnull group);
// From now on, the system calls of all groups fail, on every thread.
void condition_fail_calls(int error);
// From now on, these fail: opening files; creating FIFOs and links and changing modes, which SMB
// lacks; renaming and removing files.
void condition_refuse_opens(void);
void condition_refuse_special_files(void);
void condition_refuse_names(void);
// From now on, Landlock keeps the calling thread from opening files for reading.
void condition_close_proc(void);
// From now on, no signal action can be set, on any thread.
void condition_fail_signal_actions(void);
// From now on, the system calls in the environment variable CRASHLAB_FILTER get its answer, on
// every thread, such as "trap:39,186"; other answers are "error", "kill", "kill-thread",
// "notification" and "log". A thread of the process itself serves the notifications.
void condition_filter_calls(void);
// Starts a thread that calls exit(7) after two seconds, and one that makes the system call exit_group(8) after eight.
void condition_exit_later(void);
// Syscall user dispatch: from now on, each system call of this thread raises SIGSYS, except those
// that libc makes if `but_libc` is true.
void condition_dispatch_calls(bool but_libc);

#ifdef __cplusplus
}
#endif

#endif
