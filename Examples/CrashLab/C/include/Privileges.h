// What is taken from a process once its handler is there: privileges, and system calls.
#ifndef CCRASHLAB_PRIVILEGES_H
#define CCRASHLAB_PRIVILEGES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

void condition_drop_user(void);
void condition_change_root(void);
void condition_not_dumpable(void);
// From here on the system calls of a group kill the process, on every thread.
void condition_kill_on_calls(const char *_Nonnull group);
// From here on those of all groups fail, on every thread.
void condition_fail_calls(int error);
// From here on fail: opening files; what SMB knows not: FIFOs, links and modes; renaming and removing.
void condition_refuse_opens(void);
void condition_refuse_special_files(void);
void condition_refuse_names(void);
// From here on the calling thread opens nothing for reading, by Landlock.
void condition_close_proc(void);
// From here on no action of a signal can be set, on any thread.
void condition_fail_signal_actions(void);
// From here on the system calls that the environment's CRASHLAB_FILTER names get its answer, on every thread: "trap:39,186"; or
// "error", "kill" or "log".
void condition_filter_calls(void);
// Syscall user dispatch: from here on each call of this thread raises SIGSYS, unless libc makes it and is left out.
void condition_dispatch_calls(bool but_libc);

#ifdef __cplusplus
}
#endif

#endif
