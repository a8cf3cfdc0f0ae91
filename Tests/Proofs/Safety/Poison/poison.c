// A library that is preloaded into a victim: it ends the process with code 99 as soon as a thread
// that runs a signal handler calls a function that a signal handler may not call.
//
// PoisonedRunTests compiles it with the toolchain's clang:
//   clang -O1 -fPIC -shared -fno-builtin [-DPLANT='statements'] poison.c -o poison.so
//
// PLANT runs on each handling thread, to show that the poison works.
// Source: signal-safety(7), ld.so(8), System V ABI AMD64 3.2 (the registers that may hold arguments of a call).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#if !defined(__x86_64__)
#error "the interposed functions are written for x86_64"
#endif

enum { EXIT_POISONED = 99, EXIT_BROKEN = 98 };

// -- System calls without libc --------------------------------------------------------------------------------------

static long kernel(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

static void say(const char *text) {
  long count = 0;
  while (text[count]) count++;
  kernel(SYS_write, 2, (long)text, count);
}

// Writes the line with a single call, because several threads may get here at once, and their lines
// must not mix.
static void stop(int code, const char *text, const char *name) {
  char line[256];
  int count = 0;
  while (*text && count < 127) line[count++] = *text++;
  while (*name && count < 253) line[count++] = *name++;
  line[count++] = '\n';
  line[count] = 0;
  say(line);
  kernel(SYS_exit_group, code, 0, 0);
}

// -- Threads that run a handler -------------------------------------------------------------------------------------

// Counts by thread ID, not in thread-local storage, whose first use on a thread may allocate.
enum { PLACES = 1 << 14 };
static struct { _Atomic int thread, depth; } places[PLACES];
static _Atomic int handling;

static _Atomic int *depth(int makes) {
  int thread = (int)kernel(SYS_gettid, 0, 0, 0);
  for (unsigned probe = 0; probe < PLACES; probe++) {
    unsigned place = ((unsigned)thread + probe) % PLACES;
    if (places[place].thread == thread) return &places[place].depth;
    int empty = 0;
    if (places[place].thread == 0) {
      if (!makes) return NULL;
      if (__c11_atomic_compare_exchange_strong(&places[place].thread, &empty, thread, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return &places[place].depth;
    }
  }
  return NULL;
}

// -- Poisoned functions ---------------------------------------------------------------------------------------------

struct poisoned {
  const char *name;
  void *real;
};

static void *(*real_dlsym)(void *, const char *);

static void find_dlsym(void) {
  const char *versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
  for (int i = 0; i < 2 && !real_dlsym; i++) *(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  if (!real_dlsym) stop(EXIT_BROKEN, "poison: no ", "dlsym");
}

// Every poisoned function calls this first; it returns the real function.
__attribute__((used)) static void *poison_check(struct poisoned *function) {
  if (handling != 0) {
    _Atomic int *own = depth(0);
    if (own && *own > 0) stop(EXIT_POISONED, "poison: a handling thread calls ", function->name);
  }
  if (!function->real) {
    if (!real_dlsym) find_dlsym();
    function->real = real_dlsym(RTLD_NEXT, function->name);
    if (!function->real) stop(EXIT_BROKEN, "poison: no ", function->name);
  }
  return function->real;
}

// Saves every register that may hold an argument, so that no prototype is needed and variable
// arguments work. It then jumps to the real function, so that dlsym and dlopen see their true
// caller.
#define POISON_AS(symbol, original)                                                      \
  static struct poisoned poisoned_##symbol __attribute__((used)) = {#symbol, original}; \
  __asm__(                                                                               \
      ".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n"          \
      "pushq %rax\npushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\n"                     \
      "pushq %r8\npushq %r9\npushq %r10\npushq %r11\nsubq $128, %rsp\n"                  \
      "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"           \
      "movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\n"         \
      "movups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"                                \
      "leaq poisoned_" #symbol "(%rip), %rdi\ncall poison_check\nmovq %rax, 128(%rsp)\n" \
      "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\n"           \
      "movups 48(%rsp), %xmm3\nmovups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\n"         \
      "movups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\naddq $128, %rsp\n"               \
      "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rcx\n"                            \
      "popq %rdx\npopq %rsi\npopq %rdi\npopq %rax\njmp *%r11\n"                          \
      ".size " #symbol ", . - " #symbol "\n");
#define POISON(symbol) POISON_AS(symbol, NULL)

// dlsym itself allocates, so the functions that it calls are found without dlsym.
extern char __libc_malloc, __libc_free, __libc_calloc, __libc_realloc, __libc_memalign;
POISON_AS(malloc, &__libc_malloc)
POISON_AS(free, &__libc_free)
POISON_AS(calloc, &__libc_calloc)
POISON_AS(realloc, &__libc_realloc)
POISON_AS(memalign, &__libc_memalign)
POISON_AS(aligned_alloc, &__libc_memalign)
POISON(posix_memalign)
POISON(reallocarray)
POISON(valloc)
POISON(pvalloc)
POISON(malloc_usable_size)

POISON(pthread_mutex_lock)
POISON(pthread_mutex_trylock)
POISON(pthread_mutex_timedlock)
POISON(pthread_mutex_unlock)
POISON(pthread_rwlock_rdlock)
POISON(pthread_rwlock_tryrdlock)
POISON(pthread_rwlock_wrlock)
POISON(pthread_rwlock_trywrlock)
POISON(pthread_rwlock_unlock)
POISON(pthread_cond_wait)
POISON(pthread_cond_timedwait)
POISON(pthread_cond_signal)
POISON(pthread_cond_broadcast)
POISON(pthread_once)
POISON(pthread_create)
POISON(pthread_join)

POISON(printf)
POISON(fprintf)
POISON(dprintf)
POISON(sprintf)
POISON(snprintf)
POISON(vprintf)
POISON(vfprintf)
POISON(vdprintf)
POISON(vsprintf)
POISON(vsnprintf)
POISON(asprintf)
POISON(vasprintf)
POISON(__printf_chk)
POISON(__fprintf_chk)
POISON(__snprintf_chk)
POISON(__vsnprintf_chk)
POISON(fwrite)
POISON(fread)
POISON(fputs)
POISON(fputc)
POISON(putc)
POISON(putchar)
POISON(puts)
POISON(perror)
POISON(fopen)
POISON(fdopen)
POISON(fclose)
POISON(fflush)
POISON(fgets)
POISON(getline)
POISON(syslog)
POISON(vsyslog)
POISON(openlog)

POISON(dlopen)
POISON(dlclose)
POISON(dlsym)
POISON(dladdr)
POISON(dlerror)
POISON(dl_iterate_phdr)

POISON(_Unwind_Backtrace)
POISON(_Unwind_RaiseException)
POISON(_Unwind_ForcedUnwind)
POISON(_Unwind_Resume)
POISON(__register_frame)
POISON(__deregister_frame)
POISON(backtrace)
POISON(backtrace_symbols)
POISON(backtrace_symbols_fd)

POISON(getenv)
POISON(secure_getenv)
POISON(setenv)
POISON(unsetenv)
POISON(exit)
POISON(atexit)
POISON(fork)
POISON(vfork)
POISON(posix_spawn)
POISON(posix_spawnp)
POISON(system)
POISON(popen)
POISON(opendir)
POISON(readdir)
POISON(closedir)
POISON(localtime)
POISON(localtime_r)
POISON(strftime)
POISON(getpwuid)
POISON(getpwuid_r)
POISON(strerror)
POISON(strdup)

// The functions of the Swift runtime, if it is a shared library.
POISON(swift_allocObject)
POISON(swift_slowAlloc)
POISON(swift_slowDealloc)
POISON(swift_retain)
POISON(swift_release)
POISON(swift_once)
POISON(swift_beginAccess)
POISON(swift_endAccess)
POISON(swift_getTypeByMangledNameInContext)
POISON(swift_conformsToProtocol)

// -- Handlers -------------------------------------------------------------------------------------------------------

typedef void handler(int, siginfo_t *, void *);

// Counts nested handlers, because a fault inside a handler enters a handler again and returns. The
// poison itself may be entered with the alignment-check flag set, so it makes only aligned
// accesses.
__attribute__((used)) static void enter(int signal) {
  static _Atomic int told;
  if (__c11_atomic_exchange(&told, 1, __ATOMIC_SEQ_CST) == 0) say("poison: watching\n");
  _Atomic int *own = depth(1);
  if (!own) stop(EXIT_BROKEN, "poison: ", "too many threads");
  __c11_atomic_fetch_add(&handling, 1, __ATOMIC_SEQ_CST);
  __c11_atomic_fetch_add(own, 1, __ATOMIC_SEQ_CST);
#ifdef PLANT
  PLANT;
#endif
  (void)signal;
}

__attribute__((used)) static void leave(void) {
  _Atomic int *own = depth(0);
  if (own) __c11_atomic_fetch_sub(own, 1, __ATOMIC_SEQ_CST);
  __c11_atomic_fetch_sub(&handling, 1, __ATOMIC_SEQ_CST);
}

__attribute__((used)) static void run(int signal, siginfo_t *information, void *context, handler *real) {
  enter(signal);
  real(signal, information, context);
  leave();
}

// The return address that the kernel writes, the same in all frames.
__attribute__((used)) static void *restorer;

// A handler may check at its entry whether the kernel or another handler has called it. If the
// kernel has called the wrapper (the ucontext is directly above the return address), the wrapper
// therefore jumps to the handler, with this return address in place of the kernel's; the kernel
// does not read it again.
__asm__(
    "  .text\n"
    "leave_to_kernel:\n"
    "  call leave\n"
    "  jmpq *restorer(%rip)\n");

// There is one wrapper for each handler, not for each signal: an action that is read back may be
// installed for another signal.
enum { WRAPPERS = 8 };
__attribute__((used)) static handler *wrapped[WRAPPERS];
#define WRAPPER(n)                                 \
  handler wrapper##n;                              \
  __asm__(                                         \
      "  .text\n"                                  \
      "  .globl wrapper" #n "\n"                   \
      "  .hidden wrapper" #n "\n"                  \
      "wrapper" #n ":\n"                           \
      "  leaq 8(%rsp), %rax\n"                     \
      "  cmpq %rax, %rdx\n"                        \
      "  movq wrapped+8*" #n "(%rip), %rcx\n"      \
      "  jne run\n"                                \
      "  movq (%rsp), %rax\n"                      \
      "  movq %rax, restorer(%rip)\n"              \
      "  leaq leave_to_kernel(%rip), %rax\n"       \
      "  movq %rax, (%rsp)\n"                      \
      "  pushq %rdi\n"                             \
      "  pushq %rsi\n"                             \
      "  pushq %rdx\n"                             \
      "  call enter\n"                             \
      "  popq %rdx\n"                              \
      "  popq %rsi\n"                              \
      "  popq %rdi\n"                              \
      "  jmpq *wrapped+8*" #n "(%rip)\n");
WRAPPER(0) WRAPPER(1) WRAPPER(2) WRAPPER(3) WRAPPER(4) WRAPPER(5) WRAPPER(6) WRAPPER(7)
static handler *const wrappers[WRAPPERS] = {wrapper0, wrapper1, wrapper2, wrapper3, wrapper4, wrapper5, wrapper6, wrapper7};

int sigaction(int signal, const struct sigaction *action, struct sigaction *previous) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (handling != 0) {
    // sigaction is safe to call in a handler; only ordinary code gets a wrapper.
    _Atomic int *own = depth(0);
    if (own && *own > 0) return real(signal, action, previous);
  }
  if (!real) {
    if (!real_dlsym) find_dlsym();
    *(void **)&real = real_dlsym(RTLD_NEXT, "sigaction");
  }
  struct sigaction changed;
  if (action && action->sa_flags & SA_SIGINFO && action->sa_sigaction) {
    int n = 0;
    while (n < WRAPPERS && wrapped[n] && wrapped[n] != action->sa_sigaction && wrappers[n] != action->sa_sigaction) n++;
    if (n == WRAPPERS) stop(EXIT_BROKEN, "poison: ", "too many handlers");
    if (!wrapped[n]) wrapped[n] = action->sa_sigaction;
    changed = *action;
    changed.sa_sigaction = wrappers[n];
    action = &changed;
  }
  return real(signal, action, previous);
}
