// Functions that prepare the handler, that look up addresses and facts for it, and that open and signal another
// process. Crash code must not call them.
#ifndef PM_INSTALL_H
#define PM_INSTALL_H

#include <stddef.h>
#include <stdint.h>

#include "pm_annotations.h"

PM_BEGIN_C

// Returns the address of the Swift runtime's pointer to its last fatal message; NULL if this runtime has no such
// pointer. The library libswiftCore exports the pointer for debuggers.
const char *_Nullable const *_Nullable pm_fatal_message_buffer(void);

// Returns the address of glibc's pointer to its last abort message, `struct { unsigned size; char text[]; } *`; NULL if
// libc does not export this pointer, and in static executables. Source: glibc sysdeps/posix/libc_fatal.c.
const void *_Nullable const *_Nullable pm_abort_message_pointer(void);

// Facts that locate a thread's current Swift concurrency task. A thread-local variable in the runtime holds the
// task's address. In each thread, the variable has the same offset from the thread pointer.
struct pm_task_facts {
  // The first word of every task, and the first word of every slab of task memory; 0 without Swift concurrency.
  uint64_t task_metadata;
  uint64_t slab_metadata;
  // The offset from the thread pointer, and the size in bytes, of the runtime's thread-local block. One of the words
  // in this block is the task's address.
  int64_t block_offset;
  uint64_t block_size;
  // The version of the task layout, from _swift_concurrency_debug_internal_layout_version.
  uint32_t layout_version;
  // The size of a task object, and the functions with which the runtime starts tasks that call a closure; 0 if they
  // are not known.
  uint32_t task_size;
  uint64_t future_adapter;
  uint64_t other_adapter;
};
void pm_find_task_facts(struct pm_task_facts *_Nonnull facts);

// Facts about libstdc++: where a thread's caught exceptions are, and how the kinds of type descriptors can be
// recognized.
struct pm_exception_facts {
  // The offset of `__cxa_eh_globals` from the thread pointer; 0 without libstdc++.
  int64_t globals_offset;
  // The first word of a type descriptor for a class with one base class, and for a class with several base classes.
  uint64_t single_base_class;
  uint64_t several_bases_class;
};
void pm_find_exception_facts(struct pm_exception_facts *_Nonnull facts);

// Installs a handler. `flags` and `mask` have the kernel's format; bit n - 1 of the mask stands for signal n. Returns
// 0 or errno.
//
// The handler is installed through libc's sigaction(3), but with a raw system call under AddressSanitizer, because
// the sanitizer's sigaction(3) ignores the call if the sanitizer's option handle_segv is 2.
int pm_install_handler(int signal, void (*_Nonnull handler)(int, void *_Nullable, void *_Nullable), int flags,
                       uint64_t mask);

// While the handler is started, makes each system call of the calling thread that a seccomp filter traps return ENOSYS.
// Does nothing if SIGSYS has a handler, which then gets these traps. The first call, which is of rt_sigaction, is not
// covered: if a filter traps it, the kernel ends the process.
void pm_begin_start(void);
void pm_end_start(void);

// Returns the handler that SIGSYS had before pm_begin_start if `handler` is the one that it has since, otherwise
// `handler`.
uint64_t pm_handler_before_start(uint64_t handler);

// Returns the address of the file name with which the executable was started. This name is the last string at the top
// of the main thread's stack. Source: getauxval(3), AT_EXECFN.
uint64_t pm_executable_name(void);

// Returns the address of the program's headers if the process was started by running the dynamic linker
// (`ld-linux-x86-64.so.2 PROGRAM`), and otherwise 0. In such a process, the kernel shows the dynamic linker as the
// executable, and the dynamic linker has replaced AT_EXECFN with the program's name in the arguments. Source: ld.so(8);
// glibc elf/rtld.c, dl_main.
uint64_t pm_program_run_by_loader(void);

// Stores the value of the auxiliary vector's entry of a type in `value`; returns 0 if the vector has no entry of this
// type.
int pm_auxiliary_value(uint64_t type, uint64_t *_Nonnull value);

// Returns 1 in a program with ThreadSanitizer. The handler is not installed in such a program, because the sanitizer
// disturbs the handler: for example, a deep recursion overflows the sanitizer's shadow stack, and the sanitizer reports
// a race when two crashes are handled one after the other. Source: LLVM compiler-rt/lib/tsan/rtl/tsan_rtl.h (FuncEntry,
// kShadowStackSize).
int pm_is_thread_sanitized(void);

// Returns whether a signal handler belongs to Swift's backtracer, in a shared or static runtime, and finds the range
// of code that contains all handlers of the backtracer. For any other handler, `start` and `size` are set to 0.
int pm_find_swift_backtracer(uint64_t handler, uint64_t *_Nonnull start, uint64_t *_Nonnull size);

// Maps memory without access. Even if the program locks all future mappings (mlockall with MCL_FUTURE), this memory
// is neither charged to RLIMIT_MEMLOCK nor made resident. If necessary, the function maps one page, unlocks it, and
// then enlarges the mapping. Returns NULL, with errno set, if the kernel refuses.
void *_Nullable pm_map_unlocked(size_t size);

// pm_bring_in loads the pages of a range, as far as they belong to the loaded segment that contains the middle of the
// range. pm_bring_in_control does so for the range of `slack` bytes before and after pm_enter_crash. Before Linux 5.14,
// neither function has an effect. Source: madvise(2), MADV_POPULATE_READ.
void pm_bring_in(uintptr_t start, uintptr_t end);
void pm_bring_in_control(uintptr_t slack);

// Finds the address of libc's abort(3) and its size in bytes; both are 0 in a static executable.
void pm_find_abort(uint64_t *_Nonnull start, uint64_t *_Nonnull size);

// Sets the permission bits of files that are created in a crash (`pm_file_mode`).
void pm_set_file_mode(uint32_t mode);

// Returns AT_SECURE of getauxval(3), which is 1 in a program with more privileges than its caller.
int pm_is_secure(void);

// Returns AT_MINSIGSTKSZ of getauxval(3); 0 before Linux 5.14 on x86_64, and before Linux 4.18 on arm64.
uint64_t pm_minimum_signal_stack_size(void);

// Keeps the shared library that contains an address mapped until the process ends, because a host program may unload
// a plugin that has started the handler. Does nothing in a static executable.
void pm_pin_module(const void *_Nonnull address);

// Finds out whether the code in pm_thread_base.h can read and write the FS base register.
void pm_find_thread_base(void);

// Calls the functions that compiled crash code may call through the PLT, so that the dynamic linker binds them at
// launch; see Tests/Proofs/Safety/AllowedCalls.txt.
void pm_bind_now(void);

// The addresses of the images that the kernel loaded, and of the dynamic linker's list of the other images.
struct pm_image_places {
  // The address and number of the executable's program headers, and the difference between its addresses in memory
  // and in the file.
  uint64_t program_headers;
  uint64_t program_header_count;
  uint64_t program_bias;
  // The address of the program's dynamic section, its size in bytes, and the address of the dynamic linker's struct
  // r_debug. All three are 0 in a program without a dynamic section, such as a static executable that is not
  // position-independent.
  uint64_t dynamic_section;
  uint64_t dynamic_size;
  uint64_t debug_address;
  // The offset, in the dynamic linker's own part of struct link_map, of the address of an image's program headers; their
  // number follows 16 bytes later. 0 if it was not found.
  uint64_t headers_offset;
  // The address of the ELF header of the vDSO; 0 if there is no vDSO.
  uint64_t kernel_image;
};

// Fills a pm_image_places; an address stays 0 if there is no such image or section. Source: getauxval(3), AT_PHDR,
// AT_PHNUM, AT_SYSINFO_EHDR; <link.h>, struct r_debug; glibc include/link.h, l_phdr and l_phnum.
void pm_find_link_map(struct pm_image_places *_Nonnull places);

// Returns the name and version of the C compiler that built this module.
const char *_Nonnull pm_compiler_version(void);

// Returns the file name of the module that contains an address; NULL if no module contains the address.
const char *_Nullable pm_module_of(uint64_t address);

// Opens a pidfd, which never refers to a later process with the same ID. Returns -errno on failure, -ENOSYS before
// Linux 5.3. Source: pidfd_open(2).
int pm_open_process(int process);

// Queues a signal with a value for one thread of a process. Returns 0 or errno. Source: rt_tgsigqueueinfo(2).
int pm_queue_signal(int process, int thread, int signal, uint64_t value);

// Returns whether libc's abort(3) unblocks SIGABRT before sending it, which glibc 2.41 and newer do not.
int pm_abort_opens_its_signal(void);

// Returns the version of the C library, such as "2.36".
const char *_Nonnull pm_library_version(void);

PM_END_C

#endif
