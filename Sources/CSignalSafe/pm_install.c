#define _GNU_SOURCE
#include "pm_install.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

extern const char **swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

const char *const *pm_fatal_message_buffer(void) {
  return swift_getFatalErrorMessageBuffer ? (const char *const *)swift_getFatalErrorMessageBuffer() : NULL;
}

const void *const *pm_abort_message_pointer(void) {
  return (const void *const *)dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE");
}

int pm_install_handler(int signal, void (*handler)(int, void *, void *), int flags, uint64_t mask) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
  action.sa_flags = flags;
  memcpy(&action.sa_mask, &mask, sizeof mask);
  return sigaction(signal, &action, NULL) == 0 ? 0 : errno;
}

int pm_is_in_swift_runtime(uint64_t address) {
  Dl_info information;
  if (!dladdr((const void *)(uintptr_t)address, &information) || !information.dli_fname) return 0;
  const char *slash = strrchr(information.dli_fname, '/');
  const char *name = slash ? slash + 1 : information.dli_fname;
  return strncmp(name, "libswiftCore.so", 15) == 0;
}

int pm_preallocate(int descriptor, int64_t size) {
  return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, size) == 0 ? 0 : errno;
}

uint64_t pm_minimum_signal_stack_size(void) {
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
  return getauxval(AT_MINSIGSTKSZ);
}

void pm_bind_now(void) {
  char bytes[16];
  // A size that the compiler cannot know makes it call the function instead of writing its code here.
  volatile size_t size = 8;
  memset(bytes, 0, size);
  // Without the barriers the optimiser writes nothing that nobody reads, and copies a known value with memset.
  __asm__ volatile("" : : "r"(bytes) : "memory");
  memcpy(bytes + 8, bytes, size);
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

void pm_find_link_map(uint64_t *debug_address, uint64_t *dynamic_section, uint64_t *dynamic_size) {
  *debug_address = *dynamic_section = *dynamic_size = 0;
  if (!_DYNAMIC) return;
  const ElfW(Dyn) *entry = _DYNAMIC;
  for (; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_DEBUG) *debug_address = (uint64_t)entry->d_un.d_ptr;
  *dynamic_section = (uint64_t)_DYNAMIC;
  *dynamic_size = (uint64_t)((const char *)(entry + 1) - (const char *)_DYNAMIC);
}

const char *pm_compiler_version(void) { return __VERSION__; }

const char *pm_library_version(void) { return gnu_get_libc_version(); }
