// The two demanglers that every Swift program already carries.
#ifndef CSWIFTDEMANGLE_H
#define CSWIFTDEMANGLE_H

#include <stddef.h>
#include <stdint.h>

/// Exported by libswiftCore, dynamic and static; returns memory for `free`, or NULL for a name it
/// does not know. Source: swift/include/swift/Demangling/Demangle.h and stdlib's Demangle.cpp.
char *_Nullable swift_demangle(const char *_Nonnull mangledName, size_t mangledNameLength,
                               char *_Nullable outputBuffer, size_t *_Nullable outputBufferSize,
                               uint32_t flags);

/// Weak, because this package must not add libstdc++ to a program: libswiftCore brings it along.
/// Source: Itanium C++ ABI, 3.4 demangler API.
char *_Nullable __cxa_demangle(const char *_Nonnull mangledName, char *_Nullable outputBuffer,
                               size_t *_Nullable length, int *_Nullable status)
    __attribute__((weak));

/// Demangles a C++ name; NULL where the C++ runtime is absent or does not know the name.
static inline char *_Nullable pm_demangle_cxx(const char *_Nonnull mangledName) {
  int status = 0;
  return __cxa_demangle ? __cxa_demangle(mangledName, 0, 0, &status) : 0;
}

#endif
