// Runs CSignalSafe's assembly and signal frames in an arm64 emulator: prints a line for each
// failure, and the number of checks.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "CSignalSafe.h"

static int checks;
static int failures;
#define CHECK(condition)                                        \
  do {                                                          \
    checks++;                                                   \
    if (!(condition)) {                                         \
      printf("failed in line %d: %s\n", __LINE__, #condition);  \
      if (++failures > 20) exit(1);                             \
    }                                                           \
  } while (0)

static struct pm_recovery_point pad;
static char stack[64 << 10] __attribute__((aligned(16)));
static char alternate[64 << 10] __attribute__((aligned(16)));

static int on(const char *memory, size_t size, const void *address) {
  return (uintptr_t)address - (uintptr_t)memory < size;
}

// Labels in the assembly below: the instructions that fault and trap, and the address that is read.
extern const char fault_instruction[];
extern const char trap_instruction[];
void raise_fault(void *unused);
void raise_trap(void *unused);
__asm__(
    "  .text\n"
    "raise_fault:\n"
    "  mov x0, #0x5000\n"
    "  mov x1, #0x1111\n"
    "  mov x19, #0x1919\n"
    "  mov x28, #0x2828\n"
    "  fmov d8, #2.0\n"
    "fault_instruction:\n"
    "  ldr x2, [x0, #8]\n"
    "  ret\n"
    "raise_trap:\n"
    "  mov x21, #0x2121\n"
    "trap_instruction:\n"
    "  brk #1\n"
    "  ret\n");

static int kind;
static uint64_t seen_mask;

static void handle(int number, void *information, void *context, uint64_t entry) {
  CHECK(pm_is_kernels_call(context, entry));
  CHECK(on(alternate, sizeof alternate, __builtin_frame_address(0)));
  CHECK(pm_context_signal_stack(context)->base == (uintptr_t)alternate);
  CHECK(pm_context_signal_stack(context)->size == sizeof alternate);
  CHECK(!pm_context_is_on_signal_stack(context));
  const uint64_t *registers = pm_context_registers(context);
  // The context contains the signal mask of the interrupted thread.
  seen_mask = pm_context_signal_mask(context);
  if (kind == 1) {
    CHECK(number == SIGSEGV);
    CHECK(pm_siginfo_code(information) == SEGV_MAPERR);
    CHECK(pm_siginfo_address(information) == 0x5008);
    CHECK(pm_context_register(context, PM_INSTRUCTION_POINTER) == (uintptr_t)fault_instruction);
    CHECK(registers[0] == 0x5000 && registers[1] == 0x1111);
    CHECK(registers[19] == 0x1919 && registers[28] == 0x2828);
    const char *area = pm_context_floating_point(context);
    CHECK(pm_floating_point_size(area) == 528);
    double value;
    memcpy(&value, area + 16 + 8 * 16, sizeof value);
    CHECK(value == 2.0);
  } else if (kind == 2) {
    CHECK(number == SIGTRAP);
    CHECK(pm_context_register(context, PM_INSTRUCTION_POINTER) == (uintptr_t)trap_instruction);
    CHECK(registers[21] == 0x2121);
  } else {
    CHECK(number == SIGUSR1);
    CHECK(pm_siginfo_sender(information) == getpid());
    pm_context_set_signal_mask(context, seen_mask | UINT64_C(1) << (SIGUSR2 - 1));
    return;
  }
  pm_context_recover(context, &pad, number);
}

static void install(int number) {
  struct pm_signal_action action = {
      .handler = (uintptr_t)pm_enter_crash, .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER, .restorer = 0, .mask = 0};
  CHECK(pm_sigaction(number, &action, 0) == 0);
}

static void nothing(void *argument) { *(int *)argument += 1; }

static void look_around(void *argument) {
  *(int *)argument = on(stack, sizeof stack, __builtin_frame_address(0));
}

static __attribute__((noinline)) void capture(char *context) {
  register uint64_t kept __asm__("x22") = 0x2222;
  __asm__ volatile("fmov d9, #3.0" : "+r"(kept) : : "v9");
  pm_capture_context(context);
  __asm__ volatile("" : "+r"(kept));
  const uint64_t *registers = pm_context_registers(context);
  CHECK(registers[22] == 0x2222);
  CHECK(pm_context_register(context, PM_FRAME_POINTER) == (uintptr_t)__builtin_frame_address(0));
  CHECK(pm_context_register(context, PM_FRAME_POINTER) - pm_context_register(context, PM_STACK_POINTER) < 4096);
  CHECK(pm_context_register(context, PM_INSTRUCTION_POINTER) - (uintptr_t)capture < 4096);
  double value;
  memcpy(&value, context + PM_CONTEXT_FLOATING_POINT + 16 + 9 * 16, sizeof value);
  CHECK(value == 3.0);
  CHECK(pm_floating_point_size(pm_context_floating_point(context)) == 528);
}

// The kernel's fault syndrome follows the vector registers, among records of any size. qemu-user
// writes no such record.
static void check_syndrome(void) {
  static ucontext_t context;
  CHECK(pm_context_fault_syndrome(&context) == 0);
  char *area = (char *)context.uc_mcontext.__reserved;
  struct fpsimd_context *vectors = (struct fpsimd_context *)area;
  vectors->head.magic = FPSIMD_MAGIC;
  vectors->head.size = sizeof *vectors;
  CHECK(pm_context_fault_syndrome(&context) == 0);
  struct esr_context *syndrome = (struct esr_context *)(area + sizeof *vectors);
  syndrome->head.magic = ESR_MAGIC;
  syndrome->head.size = sizeof *syndrome;
  syndrome->esr = 0x92000046;
  CHECK(pm_context_fault_syndrome(&context) == 0x92000046);
  // One size that makes no progress, and one that leads past the end of the area.
  vectors->head.size = 8;
  CHECK(pm_context_fault_syndrome(&context) == 0);
  vectors->head.size = 0x7ffffff0;
  CHECK(pm_context_fault_syndrome(&context) == 0);
  vectors->head.size = 4096;
  CHECK(pm_context_fault_syndrome(&context) == 0);
}

int main(void) {
  CHECK(pm_getpid() == getpid());
  CHECK(pm_getppid() == getppid());
  CHECK(pm_gettid() == (int)syscall(SYS_gettid));
  uint64_t before = pm_monotonic_clock();
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  CHECK(before != 0 && before <= (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);

  CHECK(pm_set_signal_stack(alternate, sizeof alternate) == 0);
  pm_set_crash_handler(handle);
  install(SIGSEGV);
  install(SIGTRAP);
  install(SIGUSR1);

  int done = 0;
  CHECK(pm_run_section(&pad, nothing, &done) == 0 && done == 1 && pad.armed == 0);
  for (int round = 0; round < 100; round++) {
    kind = 1;
    CHECK(pm_run_section(&pad, raise_fault, &done) == SIGSEGV);
    kind = 2;
    CHECK(pm_run_section(&pad, raise_trap, &done) == SIGTRAP);
  }

  // Returning from the handler continues where the signal interrupted the thread, with the mask in
  // the context.
  kind = 3;
  uint64_t mask = UINT64_C(1) << (SIGHUP - 1);
  uint64_t previous = 0;
  CHECK(pm_sigprocmask(SIG_BLOCK, &mask, &previous) == 0);
  CHECK(pm_tgkill(getpid(), pm_gettid(), SIGUSR1) == 0);
  CHECK((seen_mask & mask) != 0);
  uint64_t after = 0;
  CHECK(pm_sigprocmask(SIG_BLOCK, 0, &after) == 0);
  CHECK((after & UINT64_C(1) << (SIGUSR2 - 1)) != 0);

  int there = 0;
  pm_call_on_stack(stack + sizeof stack, look_around, &there);
  CHECK(there == 1);
  there = 0;
  uint64_t left = 0;
  pm_call_leaving_stack(stack + sizeof stack, look_around, &there, &left);
  CHECK(there == 1 && (uintptr_t)__builtin_frame_address(0) - left < 4096);

  check_syndrome();

  static char context[PM_CAPTURED_CONTEXT_SIZE] __attribute__((aligned(16)));
  capture(context);
  CHECK(pm_thread_pointer() != 0);

  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
