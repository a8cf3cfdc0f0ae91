// Restartable sequences (rseq): if a signal interrupts such code, the kernel continues at its abort
// handler. libc registers each thread for them.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"

// glibc has these symbols since 2.35. Source: rseq(2); Linux include/uapi/linux/rseq.h.
struct area {
  uint32_t start_cpu, cpu;
  uint64_t sequence;
};

struct sequence {
  uint32_t version, flags;
  uint64_t start, size, abort;
} __attribute__((aligned(32)));

// Stores the address of the sequence, which starts directly after the store and reads a byte.
// Returns 0, or 1 from the abort handler.
int sequence_read(uint64_t *place, const struct sequence *sequence, const volatile char *address);
extern const char sequence_start[], sequence_end[], sequence_abort[];

#if defined(__x86_64__)
#define SIGNATURE 0x53053053
__asm__(
    ".text\n.type sequence_read, @function\nsequence_read:\n.cfi_startproc\n"
    "movq %rsi, (%rdi)\n"
    "sequence_start:\nmovb (%rdx), %al\n"
    "sequence_end:\nxorl %eax, %eax\nret\n"
    ".byte 0x0f, 0xb9, 0x3d\n.long 0x53053053\n"
    "sequence_abort:\nmovl $1, %eax\nret\n"
    ".cfi_endproc\n.size sequence_read, . - sequence_read\n");
#else
#define SIGNATURE 0xd428bc00
__asm__(
    ".text\n.type sequence_read, %function\nsequence_read:\n.cfi_startproc\n"
    "str x1, [x0]\n"
    "sequence_start:\nldrb w0, [x2]\n"
    "sequence_end:\nmov w0, #0\nret\n"
    ".inst 0xd428bc00\n"
    "sequence_abort:\nmov w0, #1\nret\n"
    ".cfi_endproc\n.size sequence_read, . - sequence_read\n");
#endif

static struct area *own_area(void) {
  const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  if (offset == NULL) {
    fprintf(stderr, "crash-lab: this libc registers no restartable sequences\n");
    exit(70);
  }
  return (struct area *)((char *)__builtin_thread_pointer() + *offset);
}

static int read_in_sequence(const volatile char *address) {
  static struct sequence sequence;
  sequence.start = (uint64_t)sequence_start;
  sequence.size = (uint64_t)(sequence_end - sequence_start);
  sequence.abort = (uint64_t)sequence_abort;
  return sequence_read(&own_area()->sequence, &sequence, address);
}

__attribute__((noinline)) void crash_in_sequence(void) { read_in_sequence(crashlab_address(0)); }

__attribute__((noinline)) void crash_after_sequence(void) {
  const char readable = 0;
  read_in_sequence(&readable);
  (void)*(volatile char *)crashlab_address(0);
}

bool crashlab_has_sequences(void) {
  struct area *area = own_area();
  const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
  unsigned length = size && *size > 32 ? *size : 32;
  // The kernel refuses a second registration of the same area with EBUSY, and of another one with EINVAL.
  errno = 0;
  syscall(SYS_rseq, area, length, 0, SIGNATURE);
  return errno == EBUSY;
}
