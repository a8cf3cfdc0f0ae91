// What the dynamic linker knows about the libraries of this process. None of these functions loads a library or runs
// code of one.
#ifndef PM_LIBRARIES_H
#define PM_LIBRARIES_H

#ifdef __cplusplus
extern "C" {
#endif

// A loaded program or library.
typedef struct pm_loaded {
  // Identifies it among all that are loaded.
  const void *_Nullable identity;
  // The path as the dynamic linker has it; empty for the program itself.
  const char *_Nonnull path;
} pm_loaded;

// Returns 1 if this program is dynamically linked, and 0 for a static executable, which has a C library of its own.
int pm_has_dynamic_linker(void);

// Finds a library that is loaded, by the name that other libraries need it by; its identity is NULL if it is not
// loaded.
pm_loaded pm_loaded_library(const char *_Nonnull name);

// Finds the first definition of a name in the program, the libraries that it was started with, and those that were
// loaded with RTLD_GLOBAL; a definition with a version is only found if it is the default one. The identity is NULL if
// none of them defines the name.
pm_loaded pm_global_definition(const char *_Nonnull name);

// Returns 1 if the library that was loaded from a path defines a name itself.
int pm_library_defines(const char *_Nonnull path, const char *_Nonnull name);

// Calls `visit` with the path of each library that is loaded, except the program.
void pm_loaded_libraries(void (*_Nonnull visit)(void *_Nullable context, const char *_Nonnull path), void *_Nullable context);

// Where the dynamic linker searches for a library that this program loads, or that a library without own search paths
// needs.
enum { PM_SEARCH_FOR_PROGRAM, PM_SEARCH_FOR_LIBRARY };

// Calls `visit` for each directory in which the dynamic linker searches, in its order, except that the directories of
// ld.so.cache are left out; they come before the system's directories. Source: dlinfo(3), RTLD_DI_SERINFO.
void pm_search_directories(
    int whose, void (*_Nonnull visit)(void *_Nullable context, const char *_Nonnull path),
    void *_Nullable context);

#ifdef __cplusplus
}
#endif

#endif
