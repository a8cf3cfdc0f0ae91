#define _GNU_SOURCE
#include "pm_install.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stddef.h>

extern const char **swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

const char *const *pm_fatal_message_buffer(void) {
  return swift_getFatalErrorMessageBuffer ? (const char *const *)swift_getFatalErrorMessageBuffer() : NULL;
}

const void *const *pm_abort_message_pointer(void) {
  return (const void *const *)dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE");
}

const char *pm_library_version(void) { return gnu_get_libc_version(); }
