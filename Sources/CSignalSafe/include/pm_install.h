// What is looked up once, in ordinary code, before the handlers go in. None of it may be called in a crash.
#ifndef PM_INSTALL_H
#define PM_INSTALL_H

// The address of the Swift runtime's pointer to its last fatal message; NULL if this runtime has none. The function behind
// it is exported for debuggers by libswiftCore; a weak reference finds it in dynamic, static-stdlib and static executables.
const char *const *pm_fatal_message_buffer(void);

// The address of glibc's pointer to its last abort message, `struct { unsigned size; char text[]; } *`; NULL where there is
// none (another libc, or a static executable, where the symbol is private). Source: glibc sysdeps/posix/libc_fatal.c.
const void *const *pm_abort_message_pointer(void);

// Names of the C library and its version, for the report.
const char *pm_library_version(void);

#endif
