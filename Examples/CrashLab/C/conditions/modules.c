// Modules that are numerous, deleted, or replaced.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CCrashLab.h"

static const char *needed(const char *name) {
  const char *value = getenv(name);
  if (value != NULL) return value;
  fprintf(stderr, "crash-lab: the environment has no %s\n", name);
  exit(70);
}

static void *checked(void *module) {
  if (module != NULL) return module;
  fprintf(stderr, "crash-lab: %s\n", dlerror());
  exit(70);
}

static void *open_module(const char *path) { return checked(dlopen(path, RTLD_NOW)); }

void condition_many_modules(void) {
  const char *directory = needed("CRASHLAB_MODULES");
  char path[4096];
  for (int number = 0;; number++) {
    snprintf(path, sizeof path, "%s/%d.so", directory, number);
    if (number > 0 && access(path, F_OK) != 0) return;
    open_module(path);
  }
}

// The size is 4 KiB, or on arm64 also 16 or 64 KiB.
static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

// Adjacent pages with different permissions are separate mappings.
void condition_many_mappings(void) {
  const char *wanted = getenv("CRASHLAB_MAPPINGS");
  uintptr_t count = wanted == NULL ? 60000 : strtoul(wanted, NULL, 10), size = page_size();
  char *pages = mmap(NULL, count * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(70);
  for (uintptr_t page = 0; page < count; page += 2)
    if (mprotect(pages + page * size, size, PROT_NONE) != 0) exit(70);
}

void condition_closed_module(void) {
  void *module = open_module(needed("CRASHLAB_MODULE"));
  dlclose(module);
}

// Makes a copy of the module under a name with this process's ID, so that it can be deleted.
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

static call_function call_of(void *module) { return (call_function)checked(dlsym(module, "crashlab_module_call")); }

void condition_in_module(crashlab_body body, void *context) {
  call_of(open_module(needed("CRASHLAB_MODULE")))(body, context);
}

// The loader lists the module in another namespace.
void condition_in_other_namespace(crashlab_body body, void *context) {
  call_of(checked(dlmopen(LM_ID_NEWLM, needed("CRASHLAB_MODULE"), RTLD_NOW)))(body, context);
}

void condition_in_memfd_module(crashlab_body body, void *context) {
  int descriptor = memfd_create("crash-lab-module", 0);
  char path[64], bytes[4096];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  FILE *from = fopen(needed("CRASHLAB_MODULE"), "r");
  if (descriptor < 0 || from == NULL) exit(70);
  size_t count;
  while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
    if (write(descriptor, bytes, count) != (ssize_t)count) exit(70);
  fclose(from);
  void *module = open_module(path);
  close(descriptor);
  call_of(module)(body, context);
}

// The segments of the image around an address.
struct image {
  uintptr_t address;
  uintptr_t base;
  const ElfW(Phdr) *headers;
  int count;
};

static int find_image(struct dl_phdr_info *information, size_t size, void *argument) {
  struct image *image = argument;
  for (int i = 0; i < information->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &information->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || image->address - information->dlpi_addr - header->p_vaddr >= header->p_memsz)
      continue;
    image->base = information->dlpi_addr;
    image->headers = information->dlpi_phdr;
    image->count = information->dlpi_phnum;
    return 1;
  }
  return 0;
}

static struct image image_around(void *address) {
  struct image image = {.address = (uintptr_t)address};
  if (!dl_iterate_phdr(find_image, &image)) exit(70);
  return image;
}

static uintptr_t page_start(uintptr_t address) { return address & ~(page_size() - 1); }

static uintptr_t page_end(uintptr_t address) { return page_start(address + page_size() - 1); }

static int protection(const ElfW(Phdr) *header) {
  return (header->p_flags & PF_R ? PROT_READ : 0) | (header->p_flags & PF_W ? PROT_WRITE : 0) |
         (header->p_flags & PF_X ? PROT_EXEC : 0);
}

static char *new_memory(size_t size) {
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(70);
  return memory;
}

// Replaces the code around an address with a copy in memory without a file, as programs do that use
// huge pages.
static void move_code(void *address) {
  struct image image = image_around(address);
  for (int i = 0; i < image.count; i++) {
    const ElfW(Phdr) *header = &image.headers[i];
    if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
    char *start = (char *)page_start(image.base + header->p_vaddr);
    size_t size = page_end(image.base + header->p_vaddr + header->p_memsz) - (uintptr_t)start;
    char *copy = new_memory(size);
    memcpy(copy, start, size);
    if (mprotect(copy, size, protection(header)) != 0) exit(70);
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == MAP_FAILED) exit(70);
  }
}

void condition_moved_code(void) { move_code((void *)condition_moved_code); }

void condition_in_moved_module(crashlab_body body, void *context) {
  call_function call = call_of(open_module(needed("CRASHLAB_MODULE")));
  move_code((void *)call);
  call(body, context);
}

// The loader does not know the copy.
void condition_in_copied_module(crashlab_body body, void *context) {
  call_function call = call_of(open_module(needed("CRASHLAB_MODULE")));
  struct image image = image_around((void *)call);
  uintptr_t end = 0;
  for (int i = 0; i < image.count; i++)
    if (image.headers[i].p_type == PT_LOAD) end = image.headers[i].p_vaddr + image.headers[i].p_memsz;
  char *copy = new_memory(page_end(end));
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < image.count; i++) {
      const ElfW(Phdr) *header = &image.headers[i];
      if (header->p_type != PT_LOAD) continue;
      uintptr_t start = page_start(header->p_vaddr);
      size_t size = page_end(header->p_vaddr + header->p_memsz) - start;
      if (pass == 0)
        memcpy(copy + start, (char *)image.base + start, size);
      else if (mprotect(copy + start, size, protection(header)) != 0)
        exit(70);
    }
  ((call_function)(copy + ((uintptr_t)call - image.base)))(body, context);
}

struct neighbour {
  crashlab_body body;
  void *context;
};

static sem_t neighbour_runs;

static void *run_neighbour(void *argument) {
  struct neighbour *neighbour = argument;
  if (neighbour != NULL) {
    neighbour->body(neighbour->context);
    return NULL;
  }
  sem_post(&neighbour_runs);
  pause();
  return NULL;
}

// Makes three stacks in one mapping, each with a guard of MADV_GUARD_INSTALL at its lower end, like
// glibc 2.42; the crash is on the middle one.
void condition_on_guarded_stack(crashlab_body body, void *context) {
  enum { guard_install = 102, stack_count = 3 };
  const size_t size = 1 << 20, guard = 16384;
  char *stacks = new_memory(stack_count * size);
  pthread_t threads[stack_count];
  struct neighbour neighbour = {body, context};
  for (int i = 0; i < stack_count; i++)
    if (madvise(stacks + i * size, guard, guard_install) != 0) {
      fprintf(stderr, "crash-lab: this kernel has no MADV_GUARD_INSTALL\n");
      exit(70);
    }
  const int order[] = {0, 2, 1};
  sem_init(&neighbour_runs, 0, 0);
  for (int i = 0; i < stack_count; i++) {
    // A new thread blocks every signal until it runs; until then, a handler can neither stop it nor
    // find its stack.
    if (i == stack_count - 1)
      for (int other = 0; other < i; other++) sem_wait(&neighbour_runs);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks + order[i] * size, size);
    if (pthread_create(&threads[i], &attributes, run_neighbour, order[i] == 1 ? &neighbour : NULL) != 0) exit(70);
    pthread_attr_destroy(&attributes);
  }
  pthread_join(threads[stack_count - 1], NULL);
}
