#define _GNU_SOURCE
#include "pm_install.h"
#include "pm_control.h"
#include "pm_entry_stacks.h"
#include "pm_signal_masks.h"
#include "pm_system_calls.h"
#include "pm_thread_base.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const char **swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

const char *const *pm_fatal_message_buffer(void) {
  return swift_getFatalErrorMessageBuffer ? (const char *const *)swift_getFatalErrorMessageBuffer() : NULL;
}

// New threads call this function. Without libc, a trapped call is answered (pm_answer_own_call).
static void unlock(const void *memory, size_t size) { PM_SYSCALL(SYS_munlock, memory, size, 0, 0, 0, 0); }

void *pm_map_unlocked(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    unlock(memory, size);
    return memory;
  }
  // Under mlockall(MCL_FUTURE), the whole size of a new mapping counts toward RLIMIT_MEMLOCK. But a one-page mapping
  // can be unlocked and then enlarged, and the added pages do not count.
  memory = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  unlock(memory, page);
  void *grown = mremap(memory, page, size, MREMAP_MAYMOVE);
  if (grown != MAP_FAILED) return grown;
  int reason = errno;
  munmap(memory, page);
  errno = reason;
  return NULL;
}

const void *const *pm_abort_message_pointer(void) {
  return (const void *const *)dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE");
}

extern const void *_swift_concurrency_debug_asyncTaskMetadata __attribute__((weak));
extern const void *_swift_concurrency_debug_asyncTaskSlabMetadata __attribute__((weak));
extern uint32_t _swift_concurrency_debug_internal_layout_version __attribute__((weak));
extern const size_t _swift_concurrency_debug_asyncTaskSize __attribute__((weak));
extern const void *_swift_concurrency_debug_future_adapter __attribute__((weak));
extern const void *_swift_concurrency_debug_non_future_adapter __attribute__((weak));

// A search for the loaded segment that contains `address`; the other fields are the result. `name` is the module's
// name, or NULL if there is no such segment.
struct segment_search {
  uint64_t address;
  uint64_t start;
  uint64_t size;
  // How many of the segment's bytes come from the module's file; zeros follow them.
  uint64_t file_size;
  const char *name;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *argument) {
  (void)size;
  struct segment_search *search = argument;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uint64_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type != PT_LOAD || search->address - start >= header->p_memsz) continue;
    search->start = start;
    search->size = header->p_memsz;
    search->file_size = header->p_filesz;
    search->name = info->dlpi_name;
    return 1;
  }
  return 0;
}

static struct segment_search segment_around(uint64_t address) {
  struct segment_search search = {.address = address};
  dl_iterate_phdr(find_segment, &search);
  return search;
}

void pm_bring_in(uintptr_t start, uintptr_t end) {
  struct segment_search segment = segment_around(start + (end - start) / 2);
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (start < segment.start) start = segment.start;
  // The zeros at the end of a segment are not in the file, so they need not be loaded. Even a segment with constants
  // can have such zeros, because some linkers put constants and variables into one segment.
  if (end > segment.start + segment.file_size) end = segment.start + segment.file_size;
  if (end <= start) return;
  start &= ~(page - 1);
  madvise((void *)start, end - start, 22);
}

void pm_bring_in_control(uintptr_t slack) {
  pm_bring_in((uintptr_t)pm_enter_crash - slack, (uintptr_t)pm_enter_crash + slack);
}

// A search for the module that contains `address`; the result is the module's thread-local block in this thread.
struct block_search {
  uint64_t address;
  uint64_t block;
  uint64_t size;
};

static int find_block(struct dl_phdr_info *info, size_t size, void *argument) {
  struct block_search *search = argument;
  struct segment_search segment = {.address = search->address};
  if (!find_segment(info, size, &segment)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_TLS) search->size = info->dlpi_phdr[i].p_memsz;
  if (size >= offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(void *)) search->block = (uint64_t)info->dlpi_tls_data;
  return 1;
}

void pm_find_task_facts(struct pm_task_facts *facts) {
  memset(facts, 0, sizeof *facts);
  if (!&_swift_concurrency_debug_asyncTaskMetadata || !&_swift_concurrency_debug_asyncTaskSlabMetadata) return;
  struct block_search search = {.address = (uint64_t)&_swift_concurrency_debug_asyncTaskMetadata};
  dl_iterate_phdr(find_block, &search);
  if (search.block == 0) return;
  facts->task_metadata = (uint64_t)_swift_concurrency_debug_asyncTaskMetadata;
  facts->slab_metadata = (uint64_t)_swift_concurrency_debug_asyncTaskSlabMetadata;
  facts->block_offset = (int64_t)(search.block - (uint64_t)__builtin_thread_pointer());
  facts->block_size = search.size;
  if (&_swift_concurrency_debug_internal_layout_version)
    facts->layout_version = _swift_concurrency_debug_internal_layout_version;
  if (&_swift_concurrency_debug_asyncTaskSize) facts->task_size = (uint32_t)_swift_concurrency_debug_asyncTaskSize;
  if (&_swift_concurrency_debug_future_adapter)
    facts->future_adapter = (uint64_t)_swift_concurrency_debug_future_adapter;
  if (&_swift_concurrency_debug_non_future_adapter)
    facts->other_adapter = (uint64_t)_swift_concurrency_debug_non_future_adapter;
}

extern void *__cxa_get_globals(void) __attribute__((weak));
extern const void *const _ZTVN10__cxxabiv120__si_class_type_infoE[] __attribute__((weak));
extern const void *const _ZTVN10__cxxabiv121__vmi_class_type_infoE[] __attribute__((weak));

void pm_find_exception_facts(struct pm_exception_facts *facts) {
  memset(facts, 0, sizeof *facts);
  if (!__cxa_get_globals) return;
  facts->globals_offset = (int64_t)((uint64_t)__cxa_get_globals() - (uint64_t)__builtin_thread_pointer());
  // The 2 is added because an object's first word points past the first two words of its class's virtual table.
  if (&_ZTVN10__cxxabiv120__si_class_type_infoE)
    facts->single_base_class = (uint64_t)(_ZTVN10__cxxabiv120__si_class_type_infoE + 2);
  if (&_ZTVN10__cxxabiv121__vmi_class_type_infoE)
    facts->several_bases_class = (uint64_t)(_ZTVN10__cxxabiv121__vmi_class_type_infoE + 2);
}

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

int pm_is_thread_sanitized(void) { return __tsan_init != NULL; }

// Adds libc's restorer, which on x86_64 is the code to which a handler returns. To find it, this function sets
// SIGWINCH's action to its current value through libc, and reads the action back from the kernel.
static void add_restorer(struct pm_signal_action *action) {
  struct sigaction same;
  struct pm_signal_action read = {0};
  if (sigaction(SIGWINCH, NULL, &same) != 0 || sigaction(SIGWINCH, &same, NULL) != 0) return;
  if (pm_sigaction(SIGWINCH, NULL, &read) != 0 || read.restorer == 0) return;
  action->restorer = read.restorer;
  action->flags |= 0x04000000;  // SA_RESTORER
}

int pm_install_handler(int signal, void (*handler)(int, void *, void *), int flags, uint64_t mask) {
  if (__asan_init) {
    struct pm_signal_action action = {(uint64_t)handler, (uint32_t)flags, 0, mask};
    add_restorer(&action);
    return (int)-pm_sigaction(signal, &action, NULL);
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
  action.sa_flags = flags;
  memcpy(&action.sa_mask, &mask, sizeof mask);
  return sigaction(signal, &action, NULL) == 0 ? 0 : errno;
}

// The action of SIGSYS and the signal mask before pm_begin_start.
static struct sigaction action_before_start;
static uint64_t mask_before_start;

static bool has_handler(const struct sigaction *action) {
  return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

void pm_begin_start(void) {
  if (sigaction(SIGSYS, NULL, &action_before_start) != 0 || has_handler(&action_before_start)) return;
  if (pm_install_handler(SIGSYS, pm_answer_trap, SA_SIGINFO | SA_RESTART, UINT64_MAX) != 0) return;
  pm_entries.starting_thread = pm_thread_pointer();
  // If a call is trapped in a thread that blocks SIGSYS, the kernel ends the process. A SIGSYS that is pending was sent,
  // and would arrive at once.
  uint64_t mask = PM_SET(SIGSYS), pending = 0;
  mask_before_start = 0;
  pm_sigprocmask(SIG_BLOCK, NULL, &mask_before_start);
  if (mask_before_start & mask && pm_sigpending(&pending) == 0 && !(pending & mask))
    pm_sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

void pm_end_start(void) {
  if (pm_entries.starting_thread == 0) return;
  uint64_t mask = mask_before_start & PM_SET(SIGSYS) & ~pm_kept_open();
  if (mask) pm_sigprocmask(SIG_BLOCK, &mask, NULL);
  struct sigaction now;
  if (sigaction(SIGSYS, NULL, &now) == 0 && (uint64_t)now.sa_sigaction == (uint64_t)pm_answer_trap)
    sigaction(SIGSYS, &action_before_start, NULL);
  pm_entries.starting_thread = 0;
}

uint64_t pm_handler_before_start(uint64_t handler) {
  return handler == (uint64_t)pm_answer_trap ? (uint64_t)action_before_start.sa_handler : handler;
}

// This symbol exists if Swift's runtime is linked statically; a shared runtime hides it. The object file that defines
// this symbol contains only code of the backtracer, about 4 KiB, and begins with this function. Source: swift
// stdlib/public/runtime/CrashHandlerLinux.cpp.
extern int _swift_installCrashHandler(void) __attribute__((weak));
#define BACKTRACER_SIZE 8192

int pm_find_swift_backtracer(uint64_t handler, uint64_t *start, uint64_t *size) {
  *start = *size = 0;
  if (handler <= 1) return 0;
  if (_swift_installCrashHandler) {
    if (handler - (uint64_t)_swift_installCrashHandler >= BACKTRACER_SIZE) return 0;
    *start = (uint64_t)_swift_installCrashHandler;
    *size = BACKTRACER_SIZE;
    return 1;
  }
  // dladdr is not used, because it searches all symbols of the module.
  struct segment_search search = segment_around(handler);
  if (!search.name) return 0;
  const char *slash = strrchr(search.name, '/');
  if (strncmp(slash ? slash + 1 : search.name, "libswiftCore.so", 15) != 0) return 0;
  *start = search.start;
  *size = search.size;
  return 1;
}

// Looks up the size of `abort` in the symbol hash table of the module that contains it. This function does not use
// dladdr1, which searches all symbols; for libc, that takes 0.6 ms. Source: gABI, dynamic section; the GNU hash
// section as ld.so reads it (glibc elf/dl-lookup.c).
static int find_size(struct dl_phdr_info *info, size_t size, void *argument) {
  struct segment_search *search = argument, segment = {.address = search->address};
  if (!find_segment(info, size, &segment)) return 0;
  const ElfW(Dyn) *entry = NULL;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const uint32_t *table = NULL;
  const ElfW(Sym) *symbols = NULL;
  for (; entry && entry->d_tag != DT_NULL; entry++) {
    // The dynamic linker has made the addresses in the dynamic section absolute, unless the section is read-only.
    ElfW(Addr) place = entry->d_un.d_ptr + (entry->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0);
    if (entry->d_tag == DT_GNU_HASH) table = (const uint32_t *)place;
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)place;
  }
  if (!table || !symbols || table[0] == 0) return 1;
  uint32_t hash = 5381;
  for (const char *name = "abort"; *name; name++) hash = hash * 33 + (unsigned char)*name;
  const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4), *chains = buckets + table[0];
  uint32_t index = buckets[hash % table[0]];
  if (index < table[1]) return 1;
  for (;; index++) {
    uint32_t found = chains[index - table[1]];
    if ((found | 1) == (hash | 1) && info->dlpi_addr + symbols[index].st_value == search->address) {
      search->start = search->address;
      search->size = symbols[index].st_size;
      return 1;
    }
    if (found & 1) return 1;
  }
}

void pm_find_abort(uint64_t *start, uint64_t *size) {
  struct segment_search search = {.address = (uint64_t)dlsym(RTLD_NEXT, "abort")};
  // RTLD_NEXT is tried first, because the program may define its own abort before libc's. RTLD_NEXT finds nothing in
  // a plugin, which comes after libc in the search order.
  if (search.address == 0) search.address = (uint64_t)dlsym(RTLD_DEFAULT, "abort");
  if (search.address != 0) dl_iterate_phdr(find_size, &search);
  *start = search.start;
  *size = search.size;
}

uint64_t pm_executable_name(void) { return getauxval(AT_EXECFN); }

static int find_program(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_INTERP) *(uint64_t *)found = (uint64_t)info->dlpi_phdr;
  // The first object is the program.
  return 1;
}

uint64_t pm_program_run_by_loader(void) {
  uint64_t headers = 0;
  // The kernel loads no interpreter for the dynamic linker itself, and none for a static executable.
  if (getauxval(AT_BASE) == 0) dl_iterate_phdr(find_program, &headers);
  return headers;
}

int pm_auxiliary_value(uint64_t type, uint64_t *value) {
  errno = 0;
  *value = getauxval(type);
  return *value != 0 || errno == 0;
}

uint32_t pm_file_mode = 0600;

void pm_set_file_mode(uint32_t mode) { pm_file_mode = mode; }

int pm_is_secure(void) { return getauxval(AT_SECURE) != 0; }

uint64_t pm_minimum_signal_stack_size(void) {
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
  return getauxval(AT_MINSIGSTKSZ);
}

void pm_pin_module(const void *address) {
  const char *name = segment_around((uint64_t)address).name;
  // The executable is listed with an empty name, and is never unloaded.
  if (!name || !name[0]) return;
  // A direct reference to dlopen would add the dynamic linker to a static executable, and cause a warning at each
  // link.
  void *(*open_module)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");
  // If a library is already loaded, dlopen finds it under the name with which it was loaded, in any working
  // directory. The handle is never closed, so the library stays loaded. Source: dlopen(3), RTLD_NODELETE.
  if (open_module) open_module(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int64_t pm_thread_id_offset_storage = 0;

void pm_find_thread_base(void) {
  // libc exports these constants for debuggers: the size of a field in bits, the number of fields, and the offset of
  // the first one. Source: glibc nptl_db/db_info.c.
  const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
  if (field && field[0] == 32) pm_thread_id_offset_storage = field[2];
#if defined(__aarch64__)
  // The thread block ends at the thread pointer.
  const uint32_t *size = dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread");
  pm_thread_id_offset_storage = field && size ? (int64_t)field[2] - *size : 0;
#endif
#if defined(__x86_64__)
  pm_reads_thread_base_storage = getauxval(AT_HWCAP2) >> 1 & 1;  // HWCAP2_FSGSBASE
#endif
}

void pm_bind_now(void) {
  char bytes[16];
  // Because the size is volatile, the compiler must call memset and memcpy, so that both are bound before a crash.
  volatile size_t size = 8;
  memset(bytes, 0, size);
  // The barriers prevent the optimizer from removing the calls.
  __asm__ volatile("" : : "r"(bytes) : "memory");
  memcpy(bytes + 8, bytes, size);
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

// Finds the field l_phdr in the dynamic linker's entry of the program, whose program headers the kernel passes in the
// auxiliary vector. The field is in the part of the structure that <link.h> does not declare, and has another offset in
// each version of glibc; the structure always has more than 1,024 bytes.
static uint64_t headers_offset(const struct pm_image_places *places) {
  const struct r_debug *list = (const struct r_debug *)places->debug_address;
  const char *program = list ? (const char *)list->r_map : NULL;
  if (!program) return 0;
  for (uint64_t offset = sizeof(struct link_map); offset < 1008; offset += 8)
    if (*(const uint64_t *)(program + offset) == places->program_headers &&
        *(const uint16_t *)(program + offset + 16) == places->program_header_count)
      return offset;
  return 0;
}

void pm_find_link_map(struct pm_image_places *places) {
  places->kernel_image = getauxval(AT_SYSINFO_EHDR);
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
  uint64_t count = getauxval(AT_PHNUM);
  if (!headers) return;
  places->program_headers = (uint64_t)headers;
  places->program_header_count = count;
  // A static executable may have no PT_PHDR. In that case, the program headers follow the ELF header, which is at the
  // start of the first segment.
  for (uint64_t i = count; i-- > 0;)
    if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
      places->program_bias = (uint64_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
  for (uint64_t i = 0; i < count; i++)
    if (headers[i].p_type == PT_PHDR) places->program_bias = (uint64_t)headers - headers[i].p_vaddr;
  for (uint64_t i = 0; i < count; i++) {
    if (headers[i].p_type != PT_DYNAMIC) continue;
    places->dynamic_section = places->program_bias + headers[i].p_vaddr;
    const ElfW(Dyn) *first = (const ElfW(Dyn) *)places->dynamic_section, *entry = first;
    for (; entry->d_tag != DT_NULL; entry++)
      if (entry->d_tag == DT_DEBUG) places->debug_address = (uint64_t)entry->d_un.d_ptr;
    places->dynamic_size = (uint64_t)((const char *)(entry + 1) - (const char *)first);
  }
  places->headers_offset = headers_offset(places);
}

const char *pm_module_of(uint64_t address) {
  Dl_info information;
  return dladdr((const void *)address, &information) != 0 ? information.dli_fname : NULL;
}

const char *pm_compiler_version(void) { return __VERSION__; }

const char *pm_library_version(void) { return gnu_get_libc_version(); }

int pm_abort_opens_its_signal(void) { return strverscmp(gnu_get_libc_version(), "2.41") < 0; }

int pm_open_process(int process) {
  long result = syscall(SYS_pidfd_open, process, 0);
  return result < 0 ? -errno : (int)result;
}

int pm_queue_signal(int process, int thread, int signal, uint64_t value) {
  siginfo_t information = {0};
  information.si_signo = signal;
  information.si_code = SI_QUEUE;
  information.si_pid = getpid();
  information.si_uid = getuid();
  information.si_value.sival_ptr = (void *)(uintptr_t)value;
  return syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, &information) == 0 ? 0 : errno;
}
