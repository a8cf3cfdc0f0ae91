// See pm_entry_stacks.h. Before these functions switch to an entry stack, they use the stack on which the signal
// arrived: about 600 bytes in debug builds.
#include "pm_entry_stacks.h"

#include "CSignalSafe.h"

// Marks functions that are compiled without instrumentation and without a canary. On x86_64, the canary is in the
// thread control block, which may be unreadable until the code in pm_thread_base.h has replaced it.
#define PM_NOT_INSTRUMENTED __attribute__((noinline, disable_sanitizer_instrumentation, no_stack_protector))

// Marks functions that the kernel or an emulator calls, and realigns the stack in these functions on x86_64. The reason
// is that qemu-user 7.2 enters x86_64 handlers with a misaligned stack, on which compiled code faults at its first
// aligned store. On arm64, any use of a misaligned stack pointer faults, so both the kernel and qemu align it. Source:
// System V ABI AMD64 supplement, 3.2.2; Linux arch/arm64/kernel/signal.c and qemu linux-user/aarch64/signal.c,
// get_sigframe.
#if defined(__x86_64__)
#define PM_ENTRY PM_NOT_INSTRUMENTED __attribute__((force_align_arg_pointer))
#else
#define PM_ENTRY PM_NOT_INSTRUMENTED
#endif

struct entry_stack {
  // The base of the alternate stack of the thread that uses this entry stack; 0 while the entry stack is free. If a
  // handler leaves through siglongjmp, the thread keeps its entry stack, and uses the same one next time.
  uint64_t owner;
  // `left`: the stack pointer on the alternate stack when the thread left that stack. `called`: the stack pointer on
  // this entry stack when the thread returned to the alternate stack for a call.
  uint64_t left;
  uint64_t called;
};

// The arguments of one handler call. The handler is in `crash_handler` or in `handler`; the other field is NULL. All
// fields have 8 bytes, so that there is no padding: in debug builds, clang would call memset for the padding, before
// anything else.
struct entry {
  pm_crash_handler crash_handler;
  pm_signal_handler handler;
  void *information;
  void *context;
  uint64_t entry_stack_pointer;
  int64_t signal;
} __attribute__((aligned(16)));

#define PM_LOST_CODE_FAULTS 64

static uint32_t lost_code_faults = 0;
static struct entry_stack stacks[PM_ENTRY_STACKS];

static inline __attribute__((always_inline)) uint64_t end_of(const struct entry_stack *stack) {
  return (uint64_t)pm_entries.memory + (uint64_t)(stack - stacks + 1) * pm_entries.stack_size;
}

// Returns the entry stack to use; NULL if the handler has enough stack or does not run on an alternate stack, or if no
// entry stack exists or is free. Also NULL without a context: a handler that was installed later and calls this
// package's handler may pass no context.
PM_NOT_INSTRUMENTED static struct entry_stack *pm_take_entry_stack(const void *context) {
  if (!pm_entries.memory || !context) return NULL;
  const struct pm_signal_stack *alternate = pm_context_signal_stack(context);
  uint64_t left = (uint64_t)__builtin_frame_address(0) - alternate->base;
  if (left >= alternate->size || left >= pm_entries.stack_size / 2) return NULL;
  for (int i = 0; i < PM_ENTRY_STACKS; i++)
    if (pm_atomic_load_64(&stacks[i].owner) == alternate->base) return &stacks[i];
  for (int i = 0; i < PM_ENTRY_STACKS; i++)
    if (pm_atomic_load_64(&stacks[i].owner) == 0 &&
        pm_atomic_compare_exchange_64(&stacks[i].owner, 0, alternate->base) == 0)
      return &stacks[i];
  return NULL;
}

// Makes sure that the thread control block is readable (see pm_thread_base.h), and calls the handler.
static inline __attribute__((always_inline)) void call_handler(const struct entry *entry) {
  struct pm_thread_stand_in block;
  bool is_entered = pm_enter_thread_base(&block, entry->context);
  if (entry->crash_handler) {
    entry->crash_handler(entry->signal, entry->information, entry->context, entry->entry_stack_pointer);
  } else {
    entry->handler(entry->signal, entry->information, entry->context);
  }
  if (is_entered) pm_leave_thread_base(&block);
}

PM_NOT_INSTRUMENTED static void pm_run_entry(void *argument) { call_handler(argument); }

static inline __attribute__((always_inline)) void enter(struct entry *wanted) {
  struct entry_stack *stack = pm_take_entry_stack(wanted->context);
  if (!stack) {
    call_handler(wanted);
    return;
  }
  uint64_t end = end_of(stack), top = end, left = stack->left;
  uint64_t interrupted = pm_context_register(wanted->context, PM_STACK_POINTER);
  if (end - interrupted < pm_entries.stack_size) {
    // The code that was interrupted runs on this entry stack, so the handler's frames go below that code's frames. The
    // kernel does not know the entry stack: it has put the signal frame at the top of the alternate stack.
    top = (interrupted - 256) & ~UINT64_C(15);
  } else if ((uint64_t)__builtin_frame_address(0) < left) {
    // The thread is inside a call that the handler made on the alternate stack, and that has not returned, so the entry
    // stack is in use above `called`.
    top = stack->called;
  }
  struct entry *entry = (struct entry *)(top - sizeof *entry);
  pm_copy_bytes(entry, wanted, sizeof *entry);
  pm_call_leaving_stack(entry, pm_run_entry, entry, &stack->left);
  if (top != end) {
    stack->left = left;
    return;
  }
  stack->left = 0;
  pm_atomic_store_64(&stack->owner, 0);
}

#if defined(__x86_64__)
// Leaves a handler whose first system call was trapped; called in the SIGSYS handler for that call, where all signals
// are blocked. If the handler being left was called for a fault, the faulting instruction runs again, and the kernel
// ends the process with the fault's signal. If that handler was called for SIGPROF or a real-time signal, the
// interrupted code continues. After most other signals, this function makes another call, which is trapped while SIGSYS
// is blocked, and so ends the process. Returns only if the trapped call is not the handler's first call, or if abort()
// sent the signal. Source: Linux kernel/signal.c, force_sig_info_to_task.
PM_NOT_INSTRUMENTED static void pm_leave_dispatched(const void *interrupted) {
  if (!interrupted) return;
  const void *information = (const char *)interrupted + PM_CONTEXT_SIZE;
  int signal = pm_siginfo_number(information);
  // When the handler for SIGABRT returns, abort() itself ends the process. It does so with system calls in libc, which
  // syscall user dispatch may allow, so this function does nothing.
  if (signal == SIGABRT && pm_siginfo_code(information) == PM_SI_TKILL) return;
  // The instruction pointer is already after the program's breakpoint, so a breakpoint here raises the signal again.
  if (signal == SIGTRAP) __builtin_debugtrap();
  int is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  if (is_fault ? pm_siginfo_code(information) > 0 : signal == SIGPROF || signal > SIGSYS) pm_resume(interrupted);
  pm_syscall_again(SYS_getpid);
}
#endif

// If a seccomp filter trapped a system call that this module made, or any call of the thread that starts the handler,
// makes the call return ENOSYS, as if the kernel did not have that call. Returns 0 for any other SIGSYS. If the trap were
// treated as a crash, the first system call of the crash handler would be trapped too, and so on without end.
//
// Under syscall user dispatch, the handler can make no system call, and may even be unable to return, because the
// return is also a system call. So the process is left to the kernel, which ends it as it would without the handler.
// Source: Linux kernel/entry/syscall_user_dispatch.c.
PM_NOT_INSTRUMENTED static int pm_answer_own_call(const void *information, void *context) {
  if (!information || !context) return 0;
  int code = pm_siginfo_code(information);
  bool is_start = pm_entries.starting_thread && pm_entries.starting_thread == pm_thread_pointer() && code == PM_SYS_SECCOMP;
  if (!is_start && pm_siginfo_address(information) != (uint64_t)pm_syscall6_return) return 0;
  if (code != PM_SYS_SECCOMP && code != PM_SYS_USER_DISPATCH) return 0;
#if defined(__x86_64__)
  if (code == PM_SYS_USER_DISPATCH) pm_leave_dispatched((const void *)pm_context_register(context, PM_R9));
#endif
  pm_context_set_register(context, PM_RESULT, (uint64_t)-ENOSYS);
  return 1;
}

PM_ENTRY void pm_answer_trap(int signal, void *information, void *context) {
  if (pm_answer_own_call(information, context)) return;
  struct pm_signal_action action;
  action.handler = action.flags = action.restorer = action.mask = 0;
  pm_sigaction(signal, &action, NULL);
  pm_tgsigqueueinfo(pm_getpid(), pm_gettid(), signal, information);
}

// Returns 1 if instruction fetches in the handler's own code have faulted more than PM_LOST_CODE_FAULTS times, which
// is more often than all recovery points together can handle. Without this check, the handler would be entered again
// and again, forever.
PM_NOT_INSTRUMENTED static bool pm_has_lost_code(int signal, const void *information, const void *context) {
  if ((signal != SIGBUS && signal != SIGSEGV) || !information || !context) return 0;
  uint64_t place = pm_context_register(context, PM_INSTRUCTION_POINTER);
  if (place - pm_entries.code_start >= pm_entries.code_size || pm_siginfo_address(information) != place) return 0;
  return pm_atomic_add(&lost_code_faults, 1) >= PM_LOST_CODE_FAULTS;
}

static inline __attribute__((always_inline)) void enter_with(pm_crash_handler crash_handler, pm_signal_handler handler,
                                                             int signal, void *information, void *context,
                                                             uint64_t entry_stack_pointer) {
  struct entry entry = {crash_handler, handler, information, context, entry_stack_pointer, signal};
  enter(&entry);
}

PM_ENTRY void pm_run_crash_entry(int signal, void *information, void *context, uint64_t entry_stack_pointer) {
  pm_allow_unaligned_access();
  if (signal == SIGSYS) {
    if (pm_answer_own_call(information, context)) return;
    uint64_t mask = UINT64_C(1) << (SIGSYS - 1);
    pm_sigprocmask(SIG_UNBLOCK, &mask, NULL);
  }
  if (pm_has_lost_code(signal, information, context)) {
    struct pm_signal_action action;
    action.handler = action.flags = action.restorer = action.mask = 0;
    pm_sigaction(signal, &action, NULL);
    return;
  }
  enter_with(pm_entries.crash_handler, NULL, signal, information, context, entry_stack_pointer);
}

PM_ENTRY void pm_run_stop_entry(int signal, void *information, void *context) {
  pm_allow_unaligned_access();
  enter_with(NULL, pm_entries.stop_handler, signal, information, context, 0);
}

PM_ENTRY void pm_run_watchdog_entry(int signal, void *information, void *context) {
  pm_allow_unaligned_access();
  enter_with(NULL, pm_entries.watchdog_handler, signal, information, context, 0);
}

PM_ENTRY void pm_run_termination_entry(int signal, void *information, void *context) {
  pm_allow_unaligned_access();
  enter_with(NULL, pm_entries.termination_handler, signal, information, context, 0);
}

void pm_forget_entry_stacks(void) {
  uint64_t offset = (uint64_t)__builtin_frame_address(0) - (uint64_t)pm_entries.memory;
  for (int i = 0; i < PM_ENTRY_STACKS; i++) {
    if (pm_entries.memory && offset / pm_entries.stack_size == (uint64_t)i) continue;
    stacks[i].left = 0;
    pm_atomic_store_64(&stacks[i].owner, 0);
  }
}

PM_NOT_INSTRUMENTED void *pm_stack_of_signal(void) {
  uint64_t place = (uint64_t)__builtin_frame_address(0), offset = place - (uint64_t)pm_entries.memory;
  if (!pm_entries.memory || offset >= PM_ENTRY_STACKS * pm_entries.stack_size) return NULL;
  struct entry_stack *stack = &stacks[offset / pm_entries.stack_size];
  // The 1,024 bytes below `place` are left for data that the caller still pushes on the stack.
  stack->called = (place - 1024) & ~UINT64_C(15);
  return (void *)(stack->left & ~UINT64_C(15));
}
