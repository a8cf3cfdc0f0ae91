// Signals that the kernel and libc send for files, queues and finished work.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static volatile int calls;
static volatile int wrong;
static int expected_file;
static pthread_t expected_thread;
static void note_file(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)context;
  if (information->si_fd != expected_file) wrong = 1;
  if (expected_thread && !pthread_equal(pthread_self(), expected_thread)) wrong = 2;
  calls++;
}

static void tell_of_input(int signal) {
  int ends[2];
  calls = 0;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) _exit(72);
  expected_file = ends[0];
  use_handle(signal, note_file, SA_RESTART);
  fcntl(ends[0], F_SETSIG, signal);
  struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
  expected_thread = pthread_self();
  fcntl(ends[0], F_SETOWN_EX, &owner);
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  if (write(ends[1], "x", 1) != 1) _exit(72);
  use_wait_for(&calls, 1);
  use_say("input by %d, wrong %d\n", signal, wrong);
  close(ends[0]);
  close(ends[1]);
}
static void *tell_there(void *argument) {
  int signals[] = {SIGRTMIN + 1, SIGRTMAX - 5, SIGUSR1, SIGABRT, SIGPROF, SIGIO};
  for (int index = 0; index < 6; index++) tell_of_input(signals[index]);
  return argument;
}
static void tell_of_files(void) {
  tell_there(NULL);
  pthread_join(use_start(tell_there, NULL), NULL);
}
static void wait_for_files(void) {
  int ends[2], signals[] = {SIGRTMIN + 1, SIGABRT};
  for (int index = 0; index < 2; index++) {
    use_block(signals[index], 0);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) _exit(72);
    fcntl(ends[0], F_SETSIG, signals[index]);
    fcntl(ends[0], F_SETOWN, getpid());
    fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    if (write(ends[1], "x", 1) != 1) _exit(72);
    sigset_t set = use_set(signals[index], 0);
    siginfo_t information = {0};
    int taken = sigwaitinfo(&set, &information);
    use_say("took %d code %d, own file %d\n", taken, information.si_code, information.si_fd == ends[0]);
  }
}

// -- Work of libc's threads -----------------------------------------------------------------------------------------

static void count_work(union sigval value) {
  if (value.sival_int != 42) wrong = 3;
  __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
}
static void write_behind(int notify) {
  char bytes[16] = "written later";
  char path[] = "/tmp/written-later-XXXXXX";
  int file = mkostemp(path, O_CLOEXEC);
  unlink(path);
  struct aiocb work;
  memset(&work, 0, sizeof work);
  calls = 0;
  work.aio_fildes = file;
  work.aio_buf = bytes;
  work.aio_nbytes = sizeof bytes;
  work.aio_sigevent.sigev_notify = notify;
  work.aio_sigevent.sigev_signo = SIGRTMIN + 2;
  work.aio_sigevent.sigev_value.sival_int = 42;
  work.aio_sigevent.sigev_notify_function = count_work;
  sigset_t set = use_set(SIGRTMIN + 2, 0);
  use_block(SIGRTMIN + 2, 0);
  if (aio_write(&work) != 0) _exit(72);
  const struct aiocb *list[] = {&work};
  while (aio_error(&work) == EINPROGRESS) aio_suspend(list, 1, NULL);
  use_say("written %zd %d\n", aio_return(&work), aio_error(&work));
  if (notify == SIGEV_SIGNAL) {
    siginfo_t information = {0};
    int taken = sigwaitinfo(&set, &information);
    use_say("took %d code %d value %d\n", taken, information.si_code, information.si_value.sival_int);
  } else if (notify == SIGEV_THREAD) {
    use_wait_for(&calls, 1);
    use_say("called, wrong %d\n", wrong);
  }
  close(file);
}
static void work_behind(void) {
  write_behind(SIGEV_NONE);
  write_behind(SIGEV_SIGNAL);
  write_behind(SIGEV_THREAD);
  use_block(SIGABRT, 0);
  write_behind(SIGEV_THREAD);
  use_tell("after it");
}

static void hear_of_messages(void) {
  char name[64];
  snprintf(name, sizeof name, "/crash-lab-%d", getpid());
  struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
  mqd_t queue = mq_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600, &attributes);
  if (queue == (mqd_t)-1) {
    use_say("no queue: %d\n", errno);
    return;
  }
  mq_unlink(name);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = count_work};
  event.sigev_value.sival_int = 42;
  mq_notify(queue, &event);
  mq_send(queue, "x", 1, 0);
  use_wait_for(&calls, 1);
  char text[16];
  use_say("message %zd, wrong %d\n", mq_receive(queue, text, sizeof text, NULL), wrong);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGABRT;
  use_block(SIGABRT, 0);
  mq_notify(queue, &event);
  mq_send(queue, "x", 1, 0);
  sigset_t set = use_set(SIGABRT, 0);
  siginfo_t information = {0};
  int taken = sigwaitinfo(&set, &information);
  use_say("took %d code %d value %d\n", taken, information.si_code, information.si_value.sival_int);
}

// -- Forks ----------------------------------------------------------------------------------------------------------

static void prepare(void) { use_say("prepare\n"); }
static volatile int parents;
static void in_parent(void) { parents++; }
static void in_child(void) { use_say("child\n"); }
static void before_fork(void) { pthread_atfork(prepare, NULL, in_child); }
static void exit_plainly(void) { exit(0); }
static void fork_with_handlers(void) {
  pthread_atfork(prepare, NULL, in_child);
  use_in_child("child", exit_plainly);
  pthread_atfork(NULL, in_parent, NULL);
  use_in_child("another", exit_plainly);
  use_say("in the parent: %d\n", parents);
}

// -- Locks of threads that end -------------------------------------------------------------------------------------------

static pthread_mutex_t robust;
static void *hold_and_end(void *argument) {
  pthread_mutex_lock(&robust);
  return argument;
}
static void inherit_locks(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  for (int round = 0; round < 3; round++) {
    pthread_join(use_start(hold_and_end, NULL), NULL);
    int result = pthread_mutex_lock(&robust);
    use_say("lock: %d\n", result);
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
  }
}
// The handler of a signal that interrupts calls, with and without SA_RESTART.
static void count(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  calls++;
}
static void *interrupt(void *thread) {
  while (__atomic_load_n(&wrong, __ATOMIC_SEQ_CST) == 0) {
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    usleep(1000);
  }
  return NULL;
}
static void interrupt_calls(void) {
  pthread_t own = pthread_self();
  use_handle(SIGUSR1, count, 0);
  pthread_t thread = use_start(interrupt, &own);
  int ends[2];
  char byte;
  if (pipe2(ends, O_CLOEXEC) != 0) _exit(72);
  ssize_t size = read(ends[0], &byte, 1);
  use_say("read: %zd %d\n", size, errno);
  struct pollfd entry = {ends[0], POLLIN, 0};
  use_say("poll: %d %d\n", poll(&entry, 1, 10000), errno);
  use_say("sleep: %d %d\n", usleep(500000), errno);
  __atomic_store_n(&wrong, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
}

const struct use uses_of_notices[] = {
    {"notices-files", NULL, tell_of_files},
    {"notices-files-awaited", NULL, wait_for_files},
    {"notices-work", NULL, work_behind},
    {"notices-messages", NULL, hear_of_messages},
    {"notices-forks", before_fork, fork_with_handlers},
    {"notices-locks", NULL, inherit_locks},
    {"notices-interrupted", NULL, interrupt_calls},
    {NULL, NULL, NULL},
};
