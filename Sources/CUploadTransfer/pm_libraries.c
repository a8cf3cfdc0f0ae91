#define _GNU_SOURCE
#include "pm_libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

static const pm_loaded nothing = {.path = ""};

static pm_loaded loaded(const struct link_map *map) {
  return (pm_loaded){.identity = map, .path = map->l_name ? map->l_name : ""};
}

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type == PT_INTERP) *(int *)found = 1;
  }
  // The first object is the program.
  return 1;
}

int pm_has_dynamic_linker(void) {
  int found = 0;
  dl_iterate_phdr(find_interpreter, &found);
  return found;
}

pm_loaded pm_loaded_library(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (!handle) return nothing;
  struct link_map *map = NULL;
  pm_loaded library = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? loaded(map) : nothing;
  // The library stays loaded, because it was loaded before.
  dlclose(handle);
  return library;
}

// Finds the first definition in the search order of a program or library, which begins with itself.
static struct link_map *definer(void *handle, const char *name) {
  void *address = dlsym(handle, name);
  Dl_info info;
  struct link_map *map = NULL;
  return address && dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

pm_loaded pm_global_definition(const char *name) {
  void *program = dlopen(NULL, RTLD_LAZY);
  if (!program) return nothing;
  struct link_map *map = definer(program, name);
  dlclose(program);
  return map ? loaded(map) : nothing;
}

int pm_library_defines(const char *path, const char *name) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return 0;
  struct link_map *own = NULL;
  int found = dlinfo(handle, RTLD_DI_LINKMAP, &own) == 0 && definer(handle, name) == own;
  dlclose(handle);
  return found;
}

struct visitor {
  void (*visit)(void *, const char *);
  void *context;
};

static int visit_library(struct dl_phdr_info *info, size_t size, void *argument) {
  (void)size;
  struct visitor *visitor = argument;
  if (info->dlpi_name && *info->dlpi_name) visitor->visit(visitor->context, info->dlpi_name);
  return 0;
}

void pm_loaded_libraries(void (*visit)(void *, const char *), void *context) {
  dl_iterate_phdr(visit_library, &(struct visitor){visit, context});
}

// The handle whose search directories are wanted: that of the program or plugin with this code, or that of libc, which
// has no search paths of its own.
static void *searcher(int whose) {
  if (whose == PM_SEARCH_FOR_LIBRARY) return dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(&nothing, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return NULL;
  return dlopen(map->l_name && *map->l_name ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

void pm_search_directories(int whose, void (*visit)(void *, const char *), void *context) {
  void *handle = searcher(whose);
  if (!handle) return;
  Dl_serinfo size, *info = NULL;
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0 && (info = malloc(size.dls_size)) != NULL) {
    info->dls_size = size.dls_size;
    info->dls_cnt = size.dls_cnt;
    if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; i++) {
        visit(context, info->dls_serpath[i].dls_name);
      }
    }
    free(info);
  }
  dlclose(handle);
}
