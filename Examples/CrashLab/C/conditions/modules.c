// Modules that are many, gone, or not what they were.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CCrashLab.h"

static const char *needed(const char *name) {
  const char *value = getenv(name);
  if (value != NULL) return value;
  fprintf(stderr, "crash-lab: the environment has no %s\n", name);
  exit(70);
}

static void *open_module(const char *path) {
  void *module = dlopen(path, RTLD_NOW);
  if (module != NULL) return module;
  fprintf(stderr, "crash-lab: %s\n", dlerror());
  exit(70);
}

void condition_many_modules(void) {
  const char *directory = needed("CRASHLAB_MODULES");
  char path[4096];
  for (int number = 0; number < 2000; number++) {
    snprintf(path, sizeof path, "%s/%d.so", directory, number);
    open_module(path);
  }
}

// Neighbours with different permissions are mappings of their own.
void condition_many_mappings(void) {
  enum { count = 60000 };
  char *pages = mmap(NULL, count * 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(70);
  for (long page = 0; page < count; page += 2)
    if (mprotect(pages + page * 4096, 4096, PROT_NONE) != 0) exit(70);
}

void condition_closed_module(void) {
  void *module = open_module(needed("CRASHLAB_MODULE"));
  dlclose(module);
}

// A copy of the module under a name of this process, so that it can be taken away.
static void copy_module(const char *path) {
  FILE *from = fopen(needed("CRASHLAB_MODULE"), "r");
  FILE *to = fopen(path, "w");
  if (from == NULL || to == NULL) exit(70);
  char bytes[4096];
  size_t count;
  while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
    if (fwrite(bytes, 1, count, to) != count) exit(70);
  fclose(from);
  if (fclose(to) != 0) exit(70);
}

typedef void (*call_function)(crashlab_body, void *);

static void in_module(crashlab_body body, void *context, int replaces) {
  char path[64], other[64];
  snprintf(path, sizeof path, "./crash-lab-module-%d.so", getpid());
  snprintf(other, sizeof other, "./crash-lab-module-%d.new", getpid());
  copy_module(path);
  void *module = open_module(path);
  call_function call = (call_function)dlsym(module, "crashlab_module_call");
  if (replaces) {
    FILE *file = fopen(other, "w");
    if (file == NULL || fputs("not a module\n", file) < 0 || fclose(file) != 0) exit(70);
    if (rename(other, path) != 0) exit(70);
  } else {
    unlink(path);
  }
  if (call != NULL) call(body, context);
}

void condition_in_deleted_module(crashlab_body body, void *context) { in_module(body, context, 0); }
void condition_in_replaced_module(crashlab_body body, void *context) { in_module(body, context, 1); }
