// Memory whose pages a thread of this process provides: registered with userfaultfd(2), or mapped
// from a file system that the thread serves by the FUSE protocol. Reading a missing page waits for
// that thread. Needs root.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"

#define PAGE_SIZE 4096

static void fail(const char *what) {
  perror(what);
  _exit(99);
}

static void start(void *(*body)(void *), int descriptor) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, (void *)(intptr_t)descriptor) != 0) fail("pthread_create");
}

// -- userfaultfd ----------------------------------------------------------------------------------------------------

static void *serve_faults(void *argument) {
  int descriptor = (int)(intptr_t)argument;
  char *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
  memset(page, 'u', PAGE_SIZE);
  crashlab_name_thread("server");
  struct uffd_msg message;
  while (read(descriptor, &message, sizeof message) == sizeof message) {
    uint64_t address = message.arg.pagefault.address & ~(uint64_t)(PAGE_SIZE - 1);
    if (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_MINOR) {
      struct uffdio_continue answer = {.range = {address, PAGE_SIZE}};
      ioctl(descriptor, UFFDIO_CONTINUE, &answer);
    } else {
      struct uffdio_copy answer = {.dst = address, .src = (uintptr_t)page, .len = PAGE_SIZE};
      ioctl(descriptor, UFFDIO_COPY, &answer);
    }
  }
  return NULL;
}

static char *user_faults(size_t size, bool is_minor, bool is_served) {
  int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api interface = {.api = UFFD_API, .features = is_minor ? UFFD_FEATURE_MINOR_SHMEM : 0};
  if (descriptor < 0 || ioctl(descriptor, UFFDIO_API, &interface) != 0) fail("userfaultfd");
  char *memory;
  if (is_minor) {
    int file = memfd_create("served", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size) != 0) fail("memfd");
    // The pages exist, but not in the registered mapping.
    char *other = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset(other, 'm', size);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  } else {
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  struct uffdio_register range = {
      .range = {(uintptr_t)memory, size},
      .mode = is_minor ? UFFDIO_REGISTER_MODE_MINOR : UFFDIO_REGISTER_MODE_MISSING,
  };
  if (ioctl(descriptor, UFFDIO_REGISTER, &range) != 0) fail("UFFDIO_REGISTER");
  if (is_served) start(serve_faults, descriptor);
  return memory;
}

// -- FUSE -----------------------------------------------------------------------------------------------------------

enum { FILE_NODE = 2, LARGEST_REQUEST = 1 << 18 };

// The file's size, and the descriptor of the file that has its bytes; -1 for a file of letters.
static uint64_t file_size = 1 << 20;
static int backing = -1;
static bool answers_reads = true;

static struct fuse_attr attributes(uint64_t node) {
  struct fuse_attr result = {.ino = node, .nlink = 1, .size = file_size, .blksize = PAGE_SIZE};
  result.mode = node == FILE_NODE ? S_IFREG | 0555 : S_IFDIR | 0755;
  return result;
}

static size_t read_file(void *to, const struct fuse_read_in *request) {
  if (backing < 0) {
    memset(to, 'f', request->size);
    return request->size;
  }
  ssize_t count = pread(backing, to, request->size, (off_t)request->offset);
  return count > 0 ? (size_t)count : 0;
}

static void *serve_files(void *argument) {
  int descriptor = (int)(intptr_t)argument;
  char *request = malloc(LARGEST_REQUEST), *answer = malloc(LARGEST_REQUEST);
  crashlab_name_thread("server");
  for (;;) {
    if (read(descriptor, request, LARGEST_REQUEST) < 0) {
      if (errno == EINTR) continue;
      // The file system is not mounted yet.
      if (errno == EPERM && usleep(1000) == 0) continue;
      return NULL;
    }
    struct fuse_in_header *header = (struct fuse_in_header *)request;
    struct fuse_out_header *out = (struct fuse_out_header *)answer;
    void *body = out + 1;
    size_t size = 0;
    *out = (struct fuse_out_header){.unique = header->unique};
    switch (header->opcode) {
      case FUSE_INIT:
        *(struct fuse_init_out *)body = (struct fuse_init_out){.major = 7, .minor = 31, .max_write = 65536};
        size = sizeof(struct fuse_init_out);
        break;
      case FUSE_LOOKUP:
        if (strcmp((const char *)(header + 1), "file") != 0) {
          out->error = -ENOENT;
          break;
        }
        *(struct fuse_entry_out *)body =
            (struct fuse_entry_out){.nodeid = FILE_NODE, .entry_valid = 1, .attr_valid = 1, .attr = attributes(FILE_NODE)};
        size = sizeof(struct fuse_entry_out);
        break;
      case FUSE_GETATTR:
        *(struct fuse_attr_out *)body = (struct fuse_attr_out){.attr_valid = 1, .attr = attributes(header->nodeid)};
        size = sizeof(struct fuse_attr_out);
        break;
      case FUSE_OPEN:
        *(struct fuse_open_out *)body = (struct fuse_open_out){0};
        size = sizeof(struct fuse_open_out);
        break;
      case FUSE_READ:
        if (!answers_reads) continue;
        size = read_file(body, (struct fuse_read_in *)(header + 1));
        break;
      case FUSE_FORGET:
      case FUSE_INTERRUPT:
        continue;
      default:
        out->error = -ENOSYS;
    }
    out->len = (uint32_t)(sizeof *out + size);
    (void)!write(descriptor, answer, out->len);
  }
}

// Returns the path of an unused loop device, after attaching a file of `file_size` bytes to it. The kernel releases the
// device when the file system on it is no longer mounted.
static const char *loop_device(void) {
  static char path[32];
  struct loop_config volume = {.info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
  int file = memfd_create("volume", MFD_CLOEXEC);
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)file_size) != 0 || control < 0) fail("/dev/loop-control");
  volume.fd = (uint32_t)file;
  for (int attempt = 0; attempt < 100; attempt++) {
    snprintf(path, sizeof path, "/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
    // The device remains open until the process ends.
    int device = open(path, O_RDWR | O_CLOEXEC);
    // Another process may have taken the same device.
    if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &volume) == 0) return path;
    close(device);
  }
  fail("LOOP_CONFIGURE");
  return NULL;
}

// Forks a server that answers all requests but those to read the file. It ends with this process, or after a minute.
static void fork_unready_server(int descriptor) {
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(60);
  answers_reads = false;
  serve_files((void *)(intptr_t)descriptor);
  _exit(0);
}

// Mounts the file system in a mount namespace of this process only, so that it disappears with the
// process. Returns the server's descriptor.
//
// If the file system is on a block device, the kernel waits for the server when it unmounts the file system. A thread of
// a process that ends cannot answer, so another process serves this file system.
static int mount_file(bool is_on_device) {
  int descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail("/dev/fuse");
  if (is_on_device) fork_unready_server(descriptor);
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("unshare");
  char options[80];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", descriptor);
  const char *source = is_on_device ? loop_device() : "crashlab";
  if (mount(source, "/mnt", is_on_device ? "fuseblk" : "fuse", 0, options) != 0) fail("mount");
  return descriptor;
}

int crashlab_run_served(const char *program, char *const *arguments) {
  struct stat status;
  backing = open(program, O_RDONLY | O_CLOEXEC);
  if (backing < 0 || fstat(backing, &status) != 0) fail(program);
  file_size = (uint64_t)status.st_size;
  int descriptor = mount_file(false);
  pid_t server = fork();
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve_files((void *)(intptr_t)descriptor);
    _exit(0);
  }
  close(descriptor);
  char text[32];
  snprintf(text, sizeof text, "%d", server);
  setenv("CRASHLAB_SERVER", text, 1);
  execv("/mnt/file", arguments);
  fail("/mnt/file");
  return -1;
}

void crashlab_end_server(void) {
  const char *text = getenv("CRASHLAB_SERVER");
  pid_t server = text ? (pid_t)atoi(text) : 0;
  if (server <= 1) return;
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
}

static char *served_file(size_t size, bool is_detached, bool is_on_device) {
  int descriptor = mount_file(is_on_device);
  if (is_on_device) close(descriptor); else start(serve_files, descriptor);
  int file = open("/mnt/file", O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("/mnt/file");
  char *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) fail("mmap");
  // A process that ends with such a file open waits forever for its server, even without a crash.
  close(file);
  if (is_detached && umount2("/mnt", MNT_DETACH) != 0) fail("umount2");
  return memory;
}

void *crashlab_served_memory(int server, size_t size) {
  switch (server) {
    case CRASHLAB_MISSING_PAGES:
      return user_faults(size, false, true);
    case CRASHLAB_MINOR_FAULTS:
      return user_faults(size, true, true);
    case CRASHLAB_UNSERVED_PAGES:
      return user_faults(size, false, false);
    default:
      return served_file(size, server == CRASHLAB_DETACHED_FILE, server == CRASHLAB_FILE_ON_DEVICE);
  }
}

// -- Crashes --------------------------------------------------------------------------------------------------------

// The addresses are in registers that calls preserve.
void crash_with_registers(const void *first, const void *second) {
#if defined(__x86_64__)
  __asm__ volatile("movq %0, %%rbx\n\tmovq %1, %%r12\n\tmovl $0, 8" : : "r"(first), "r"(second) : "rbx", "r12", "memory");
#else
  __asm__ volatile("mov x19, %0\n\tmov x20, %1\n\tstr wzr, [%2]"
                   :
                   : "r"(first), "r"(second), "r"((uintptr_t)8)
                   : "x19", "x20", "memory");
#endif
}

struct call {
  void (*body)(void *);
  void *argument;
};

// The untouched pages of this frame are between this function and the next one.
__attribute__((noinline)) static void call_from_large_frame(struct call *call) {
  volatile char frame[256 << 10];
  frame[0] = 1;
  frame[sizeof frame - 1] = 1;
  call->body(call->argument);
  frame[1] = 1;
}

static void *call_on_thread(void *argument) {
  call_from_large_frame(argument);
  return NULL;
}

void crashlab_call_on_stack(void *stack, size_t size, void (*body)(void *), void *argument) {
  struct call *call = malloc(sizeof *call);
  *call = (struct call){body, argument};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, size);
  if (pthread_create(&thread, &attributes, call_on_thread, call) != 0) fail("pthread_create");
}
