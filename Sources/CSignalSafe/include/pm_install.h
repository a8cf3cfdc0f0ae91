// What is looked up once, in ordinary code, before the handlers go in. None of it may be called in a crash.
#ifndef PM_INSTALL_H
#define PM_INSTALL_H

#include <stdint.h>

// The address of the Swift runtime's pointer to its last fatal message; NULL if this runtime has none. The function behind
// it is exported for debuggers by libswiftCore; a weak reference finds it in dynamic, static-stdlib and static executables.
const char *_Nullable const *_Nullable pm_fatal_message_buffer(void);

// The address of glibc's pointer to its last abort message, `struct { unsigned size; char text[]; } *`; NULL where there is
// none (another libc, or a static executable, where the symbol is private). Source: glibc sysdeps/posix/libc_fatal.c.
const void *_Nullable const *_Nullable pm_abort_message_pointer(void);

// Where a thread's current task of Swift concurrency is to be found: the runtime keeps it in a thread-local variable of its
// own, at the same distance from the thread pointer in each thread, and exports what the objects' first words hold.
struct pm_task_facts {
  // The first word of every task, and of every slab of a task's memory; 0 where the program has no Swift concurrency.
  uint64_t task_metadata;
  uint64_t slab_metadata;
  // The runtime's thread-local block: what to add to the thread pointer, and its size in bytes. Only the runtime knows which
  // of its words is the task.
  int64_t block_offset;
  uint64_t block_size;
  // _swift_concurrency_debug_internal_layout_version: of what else is in a task.
  uint32_t layout_version;
};
void pm_find_task_facts(struct pm_task_facts *_Nonnull facts);

// Where libstdc++ keeps the exceptions that a thread has caught, and what tells one kind of type description from another.
struct pm_exception_facts {
  // What to add to the thread pointer for the thread's `__cxa_eh_globals`; 0 where the program has no libstdc++.
  int64_t globals_offset;
  // The first word of descriptions of classes with one base and with several.
  uint64_t single_base_class;
  uint64_t several_bases_class;
};
void pm_find_exception_facts(struct pm_exception_facts *_Nonnull facts);

// Installs a handler. `flags` and `mask` are the kernel's; bit n - 1 of the mask stands for signal n. Returns 0 or errno.
//
// Through libc, but under a sanitizer by the kernel's own call: ThreadSanitizer's sigaction(3) enters the handler into a table
// of its own, over the program's, and leaves its own dispatcher with the kernel. That dispatcher is what is found as the
// previous action; calling it would come back to us for ever. AddressSanitizer's does nothing with handle_segv=2.
int pm_install_handler(int signal, void (*_Nonnull handler)(int, void *_Nullable, void *_Nullable), int flags,
                       uint64_t mask);

// Whether an address is in Swift's runtime as a shared library: a signal handler there is its backtracer's. Not to be told
// where the runtime is inside the executable, which has no backtracer.
int pm_is_in_swift_runtime(uint64_t address);

// The segment of a module that an address of code lies in; both 0 if it lies in none.
void pm_find_code(uint64_t address, uint64_t *_Nonnull start, uint64_t *_Nonnull size);

// Where libc's abort(3) lies, and its size in bytes; both 0 where no table of symbols tells (a static executable).
void pm_find_abort(uint64_t *_Nonnull start, uint64_t *_Nonnull size);

// AT_SECURE of getauxval(3): 1 in a program that runs with more rights than whoever started it.
int pm_is_secure(void);

// AT_MINSIGSTKSZ of getauxval(3); 0 on kernels before 5.14, which the Glibc overlay cannot ask.
uint64_t pm_minimum_signal_stack_size(void);

// Keeps the module that an address lies in mapped until the process ends, where it is a shared library: a plugin that starts the
// handler may be closed by its host, and a signal would find nothing where the handler was. Nothing in a static executable.
void pm_pin_module(const void *_Nonnull address);

// Finds out whether the register of pm_thread_base.h can be read and written.
void pm_find_thread_base(void);

// Calls each function that the compiler may call on the crash path through the PLT, whose first call runs the dynamic
// linker. Tests/Proofs/Safety/AllowedCalls.txt says which those are.
void pm_bind_now(void);

// Where the dynamic linker publishes its list (struct r_debug), and the executable's dynamic section with its size in bytes;
// all 0 in a static executable. Found through DT_DEBUG of the program's own dynamic section.
void pm_find_link_map(uint64_t *_Nonnull debug_address, uint64_t *_Nonnull dynamic_section,
                      uint64_t *_Nonnull dynamic_size);

// The toolchain's C compiler, as it names itself.
const char *_Nonnull pm_compiler_version(void);

// The file name of the module that an address lies in; NULL if it lies in none.
const char *_Nullable pm_module_of(uint64_t address);

// Names of the C library and its version, for the report.
const char *_Nonnull pm_library_version(void);

#endif
