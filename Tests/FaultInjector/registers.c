// Registers of a traced thread. Source: ptrace(2); Linux Documentation/arch/arm64/ptrace.rst.
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "injector.h"

#if defined(__x86_64__)

// Breakpoint: int3 and nop. Hang: jmp to itself.
const uint64_t breakpoint_code = 0x90CC, hang_code = 0xFEEB, code_mask = 0xFFFF;

// The kernel treats -1 as an unknown system call, and runs nothing.
void registers_skip_call(pid_t thread) {
  ptrace(PTRACE_POKEUSER, thread, __builtin_offsetof(struct user, regs.orig_rax), (void *)-1L);
}

void registers_set_result(pid_t thread, long value) {
  ptrace(PTRACE_POKEUSER, thread, __builtin_offsetof(struct user, regs.rax), (void *)value);
}

uint64_t registers_breakpoint(pid_t thread) {
  return (uint64_t)ptrace(PTRACE_PEEKUSER, thread, __builtin_offsetof(struct user, regs.rip), 0) - 1;
}

void registers_jump(pid_t thread, uint64_t address) {
  ptrace(PTRACE_POKEUSER, thread, __builtin_offsetof(struct user, regs.rip), (void *)address);
}

#elif defined(__aarch64__)

// Breakpoint: brk #0. Hang: b to itself.
const uint64_t breakpoint_code = 0xD4200000, hang_code = 0x14000000, code_mask = 0xFFFFFFFF;

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

void registers_skip_call(pid_t thread) {
  int number = -1;
  struct iovec place = {&number, sizeof number};
  ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &place);
}

static struct user_regs_struct read_registers(pid_t thread) {
  struct user_regs_struct registers = {0};
  struct iovec place = {&registers, sizeof registers};
  ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &place);
  return registers;
}

static void write_registers(pid_t thread, struct user_regs_struct registers) {
  struct iovec place = {&registers, sizeof registers};
  ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &place);
}

void registers_set_result(pid_t thread, long value) {
  struct user_regs_struct registers = read_registers(thread);
  registers.regs[0] = (uint64_t)value;
  write_registers(thread, registers);
}

uint64_t registers_breakpoint(pid_t thread) { return read_registers(thread).pc; }

void registers_jump(pid_t thread, uint64_t address) {
  struct user_regs_struct registers = read_registers(thread);
  registers.pc = address;
  write_registers(thread, registers);
}

#endif
