// Declares the demanglers of the Swift and C++ runtimes.
#ifndef CSWIFTDEMANGLE_H
#define CSWIFTDEMANGLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Demangles a Swift name; libswiftCore exports this function.
///
/// If `outputBuffer` is NULL, the function returns memory that the caller must release with `free`. It returns NULL if
/// the name is not a mangled Swift name.
///
/// Source: swift/include/swift/Demangling/Demangle.h and stdlib's Demangle.cpp.
char *_Nullable swift_demangle(const char *_Nonnull mangledName, size_t mangledNameLength,
                               char *_Nullable outputBuffer, size_t *_Nullable outputBufferSize,
                               uint32_t flags);

/// The C++ runtime's demangler.
///
/// The reference is weak, so a program links even without libstdc++. A dynamically linked libswiftCore loads libstdc++,
/// so the function can be missing only with a static libswiftCore.
///
/// Source: Itanium C++ ABI, 3.4 demangler API.
char *_Nullable __cxa_demangle(const char *_Nonnull mangledName, char *_Nullable outputBuffer,
                               size_t *_Nullable length, int *_Nullable status)
    __attribute__((weak));

/// Demangles a C++ name that begins with `_Z`; returns NULL for a name that is not valid, or if the program does not
/// contain the C++ runtime.
///
/// The caller must check the prefix, because the C++ runtime also accepts the names of types, such as "i" for `int`.
static inline char *_Nullable pm_demangle_cxx(const char *_Nonnull mangledName) {
  int status = 0;
  return __cxa_demangle ? __cxa_demangle(mangledName, 0, 0, &status) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
