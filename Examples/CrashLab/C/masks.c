// Programs that block crash signals and receive them in various ways. They print what they see,
// which is compared with the output without a handler.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "CCrashLab.h"

extern char **environ;

static sigset_t set_of(int first, int second) {
  sigset_t set;
  sigemptyset(&set);
  if (first) sigaddset(&set, first);
  if (second) sigaddset(&set, second);
  return set;
}

static uint64_t word(const sigset_t *set) {
  uint64_t bits = 0;
  memcpy(&bits, set, sizeof bits);
  return bits;
}

static uint64_t mask(void) {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, NULL, &set);
  return word(&set);
}

static void block(sigset_t set) { pthread_sigmask(SIG_BLOCK, &set, NULL); }

void crashlab_block_all(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
}

void crashlab_block_by_kernel(int signal) {
  uint64_t bit = 1ull << (signal - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, sizeof bit);
}

static void do_nothing(int signal) { (void)signal; }

void crashlab_handle_blocking(int signal, int blocked) {
  struct sigaction action = {.sa_handler = do_nothing};
  sigaddset(&action.sa_mask, blocked);
  sigaction(signal, &action, NULL);
}

// Another process calls `send`, and has ended when this function returns: its signal is pending, or
// was received.
static pid_t from_another(void (*send)(pid_t)) {
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    send(parent);
    _exit(0);
  }
  while (waitpid(child, NULL, 0) == -1 && errno == EINTR) {
  }
  return child;
}
static void send_abort(pid_t process) { kill(process, SIGABRT); }
static void send_fault(pid_t process) { kill(process, SIGSEGV); }
static void queue_abort(pid_t process) { sigqueue(process, SIGABRT, (union sigval){.sival_int = 42}); }

// -- The contents of masks
// -----------------------------------------------------------------------------------------------

static void change(const char *name, int how, sigset_t set) {
  sigset_t before;
  sigemptyset(&before);
  int result = pthread_sigmask(how, &set, &before);
  printf("%s: %d before %016llx now %016llx\n", name, result, (unsigned long long)word(&before),
         (unsigned long long)mask());
}

static void read_back(void) {
  sigset_t all, both = set_of(SIGABRT, SIGSEGV), libc = set_of(0, 0);
  sigfillset(&all);
  // 32 and 33, which sigaddset refuses.
  memset(&libc, 0xff, sizeof libc);
  change("none", SIG_SETMASK, set_of(0, 0));
  change("abort", SIG_BLOCK, set_of(SIGABRT, 0));
  change("fault", SIG_BLOCK, set_of(SIGSEGV, SIGUSR1));
  change("not abort", SIG_UNBLOCK, set_of(SIGABRT, 0));
  change("all", SIG_SETMASK, all);
  change("libc's", SIG_SETMASK, libc);
  change("not fault", SIG_UNBLOCK, set_of(SIGSEGV, SIGUSR2));
  change("fault again", SIG_BLOCK, set_of(SIGSEGV, 0));
  int result = pthread_sigmask(SIG_SETMASK, &both, &both);
  printf("same place: %d %016llx %016llx\n", result, (unsigned long long)word(&both), (unsigned long long)mask());
  printf("no operation: %d\n", pthread_sigmask(77, &all, NULL));
  printf("nothing: %d\n", pthread_sigmask(77, NULL, NULL));
  errno = 0;
  result = sigprocmask(77, &all, NULL);
  printf("no operation: %d %d\n", result, errno);
}

// Uses the functions of BSD and System V.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static void use_older(void) {
  printf("sigblock %x now %016llx\n", sigblock(1 << (SIGSEGV - 1) | 1 << (SIGHUP - 1)), (unsigned long long)mask());
  printf("sigsetmask %x now %016llx\n", sigsetmask(1 << (SIGBUS - 1)), (unsigned long long)mask());
  printf("siggetmask %x\n", siggetmask());
  printf("sigrelse %d now %016llx\n", sigrelse(SIGBUS), (unsigned long long)mask());
  printf("sighold %d %d now %016llx\n", sighold(SIGSEGV), sighold(SIGUSR1), (unsigned long long)mask());
  printf("sighold of none %d %d\n", sighold(0), sighold(99));
  printf("sigset %d now %016llx\n", sigset(SIGUSR1, SIG_IGN) == SIG_HOLD, (unsigned long long)mask());
  printf("sigset %d now %016llx\n", sigset(SIGUSR1, SIG_HOLD) == SIG_IGN, (unsigned long long)mask());
  printf("sigset of none %d\n", sigset(99, SIG_DFL) == SIG_ERR);
  fflush(stdout);
  crash_null_call();
}
#pragma clang diagnostic pop

static void read_back_nowhere(void) {
  int result = pthread_sigmask(SIG_BLOCK, NULL, (sigset_t *)crashlab_address(8));
  printf("no memory: %d %016llx\n", result, (unsigned long long)mask());
}

static sigjmp_buf place;

static void jump(void) {
  if (sigsetjmp(place, 1) == 0) {
    crashlab_block_all();
    siglongjmp(place, 1);
  }
  printf("after siglongjmp: %016llx\n", (unsigned long long)mask());
}

static uint64_t seen;
static void look(int signal) {
  (void)signal;
  seen = mask();
  crashlab_block_all();
}

static void handle(void) {
  struct sigaction action = {.sa_handler = look};
  sigaddset(&action.sa_mask, SIGABRT);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  printf("in a handler %016llx, after it %016llx\n", (unsigned long long)seen, (unsigned long long)mask());
}

static void *tell_mask(void *name) {
  printf("%s: %016llx\n", (const char *)name, (unsigned long long)mask());
  return NULL;
}

static void make_threads(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  crashlab_block_all();
  pthread_create(&thread, NULL, tell_mask, "inherits");
  pthread_join(thread, NULL);
  pthread_attr_init(&attributes);
  sigset_t set = set_of(SIGSEGV, SIGUSR2);
  pthread_attr_setsigmask_np(&attributes, &set);
  pthread_create(&thread, &attributes, tell_mask, "by attribute");
  pthread_join(thread, NULL);
  set = set_of(0, 0);
  pthread_attr_setsigmask_np(&attributes, &set);
  pthread_create(&thread, &attributes, tell_mask, "none by attribute");
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    tell_mask("child");
    block(set_of(SIGUSR1, 0));
    tell_mask("child, later");
    exit(0);
  }
  waitpid(child, NULL, 0);
  tell_mask("maker");
}

// -- Other programs -------------------------------------------------------------------------------------------------

static char *const show[] = {"grep", "SigBlk", "/proc/self/status", NULL};

static void await(pid_t child, const char *name) {
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: %d\n", name, status);
  fflush(stdout);
}

static void start_programs(void) {
  pid_t child;
  sigset_t some = set_of(SIGABRT, SIGUSR1), none = set_of(0, 0);
  for (int round = 0; round < 2; round++) {
    if (round == 0) {
      crashlab_block_all();
    } else {
      pthread_sigmask(SIG_SETMASK, &some, NULL);
    }
    printf("round %d\n", round);
    fflush(stdout);
    if (posix_spawn(&child, "/bin/grep", NULL, NULL, show, environ) == 0) await(child, "posix_spawn");
    if (posix_spawnp(&child, "grep", NULL, NULL, show, environ) == 0) await(child, "posix_spawnp");
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (posix_spawnp(&child, "grep", NULL, &attributes, show, environ) == 0) await(child, "with a mask");
    for (int way = 0; way < 9; way++) {
      if ((child = fork()) == 0) {
        switch (way) {
          case 0: execv("/bin/grep", show); break;
          case 1: execve("/bin/grep", show, environ); break;
          case 2: execvp("grep", show); break;
          case 3: execvpe("grep", show, environ); break;
          case 4: execl("/bin/grep", "grep", "SigBlk", "/proc/self/status", (char *)NULL); break;
          case 5: execlp("grep", "grep", "SigBlk", "/proc/self/status", (char *)NULL); break;
          case 6: execle("/bin/grep", "grep", "SigBlk", "/proc/self/status", (char *)NULL, environ); break;
          case 7: fexecve(open("/bin/grep", O_RDONLY | O_CLOEXEC), show, environ); break;
          // Fails the first time, and then succeeds.
          case 8: execv("/nowhere", show), execv("/bin/grep", show); break;
        }
        _exit(1);
      }
      await(child, "exec");
    }
    if ((child = vfork()) == 0) {
      execv("/bin/grep", show);
      _exit(1);
    }
    await(child, "vfork");
    if ((child = vfork()) == 0) {
      sigprocmask(SIG_SETMASK, &none, NULL);
      execvp("grep", show);
      _exit(1);
    }
    await(child, "vfork, none");
    if ((child = vfork()) == 0) {
      sigset_t abort = set_of(SIGABRT, 0);
      sigprocmask(SIG_UNBLOCK, &abort, NULL);
      execvp("grep", show);
      _exit(1);
    }
    await(child, "vfork, without SIGABRT");
    tell_mask("parent");
  }
  errno = 0;
  int result = execl("/nowhere", "nowhere", (char *)NULL);
  printf("exec of nothing: %d %d\n", result, errno);
}

// -- Signals that another process sends
// ----------------------------------------------------------------------------------

static void print_pending(const char *name) {
  sigset_t set;
  sigpending(&set);
  printf("%s: pending %016llx, mask %016llx\n", name, (unsigned long long)word(&set), (unsigned long long)mask());
}

static void take_pending(const char *name, pid_t sender) {
  siginfo_t information = {0};
  sigset_t set = set_of(SIGABRT, SIGSEGV);
  struct timespec time = {0, 0};
  int taken = sigtimedwait(&set, &information, &time);
  printf("%s: took %d code %d value %d from %s\n", name, taken, information.si_code, information.si_value.sival_int,
         taken < 0                               ? "nobody"
         : information.si_pid == sender          ? "the sender"
         : information.si_pid == getpid()        ? "itself"
                                                 : "another");
}

static void stay_pending(void) {
  crashlab_block_all();
  raise(SIGABRT);
  print_pending("raise");
  take_pending("raise", 0);
  pthread_kill(pthread_self(), SIGABRT);
  kill(getpid(), SIGSEGV);
  print_pending("two");
  take_pending("first", 0);
  take_pending("second", 0);
  pid_t sender = from_another(send_abort);
  print_pending("sent");
  take_pending("sent", sender);
  sender = from_another(queue_abort);
  print_pending("queued");
  take_pending("queued", sender);
  take_pending("nothing", 0);
  sender = from_another(send_fault);
  print_pending("fault");
  block(set_of(SIGUSR1, 0));
  print_pending("and a mask later");
  take_pending("fault", sender);
}

static void *wait_for_abort(void *argument) {
  sigset_t set = set_of(SIGABRT, SIGUSR1);
  siginfo_t information = {0};
  int taken = sigwaitinfo(&set, &information);
  printf("sigwait: %d code %d\n", taken, information.si_code);
  return argument;
}

static void be_waited_for(void) {
  pthread_t waiter, sleepers[4];
  crashlab_block_all();
  for (int index = 0; index < 4; index++) pthread_create(&sleepers[index], NULL, (void *(*)(void *))pause, NULL);
  for (int round = 0; round < 3; round++) {
    pthread_create(&waiter, NULL, wait_for_abort, NULL);
    from_another(round == 1 ? queue_abort : send_abort);
    pthread_join(waiter, NULL);
  }
}

static void read_descriptor(void) {
  sigset_t set = set_of(SIGABRT, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  int file = signalfd(-1, &set, SFD_CLOEXEC);
  for (int round = 0; round < 2; round++) {
    pid_t sender = from_another(send_abort);
    struct pollfd entry = {file, POLLIN, 0};
    while (poll(&entry, 1, 10000) == -1 && errno == EINTR) {
    }
    struct signalfd_siginfo information = {0};
    ssize_t size = read(file, &information, sizeof information);
    printf("signalfd: %d %u code %d %s\n", size == sizeof information, information.ssi_signo, information.ssi_code,
           information.ssi_pid == (uint32_t)sender ? "from the sender" : "");
  }
  fflush(stdout);
}

static void abort_after_descriptor(void) {
  read_descriptor();
  abort();
}

static void fail_after_descriptor(void) {
  read_descriptor();
  crash_double_free();
}

static void abort_here(int signal) {
  (void)signal;
  abort();
}

// The kernel adds sa_mask to the thread's mask without calling any function of libc.
static void abort_in_handler(void) {
  struct sigaction action = {.sa_handler = abort_here};
  sigaddset(&action.sa_mask, SIGABRT);
  sigaction(SIGUSR1, &action, NULL);
  printf("raises\n");
  fflush(stdout);
  raise(SIGUSR1);
}

static void abort_under_own_mask(void) {
  uint64_t signal = 1ull << (SIGABRT - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal, NULL, sizeof signal);
  printf("blocked past libc: %016llx\n", (unsigned long long)mask());
  fflush(stdout);
  abort();
}

static void unblock_later(void) {
  sigset_t set = set_of(SIGABRT, 0);
  block(set);
  from_another(send_abort);
  print_pending("sent");
  fflush(stdout);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  printf("came back\n");
}

static void open_for_a_call(void) {
  sigset_t none = set_of(0, 0);
  block(set_of(SIGABRT, 0));
  from_another(send_abort);
  print_pending("sent");
  fflush(stdout);
  for (int round = 0; round < 3; round++) ppoll(NULL, 0, &(struct timespec){10, 0}, &none);
  printf("came back\n");
}

static void *take_it(void *ready) {
  sigset_t set = set_of(SIGABRT, 0);
  crashlab_name_thread("taker");
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  pthread_barrier_wait(ready);
  for (;;) pause();
  return NULL;
}

static void leave_to_another(void) {
  pthread_barrier_t ready;
  pthread_t thread;
  pthread_barrier_init(&ready, NULL, 2);
  block(set_of(SIGABRT, 0));
  pthread_create(&thread, NULL, take_it, &ready);
  pthread_barrier_wait(&ready);
  tell_mask("main");
  fflush(stdout);
  from_another(send_abort);
  for (int round = 0; round < 1000; round++) usleep(10000);
  printf("came back\n");
}

static void note(int signal) {
  (void)signal;
  printf("own handler, mask %016llx\n", (unsigned long long)mask());
}

static void handle_later(void) {
  signal(SIGABRT, note);
  sigset_t set = set_of(SIGABRT, SIGUSR1);
  block(set);
  from_another(send_abort);
  print_pending("sent");
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  print_pending("after it");
}

// -- Their names ----------------------------------------------------------------------------------------------------

static const struct {
  const char *name;
  void (*run)(void);
} scenes[] = {
    {"read-back", read_back},
    {"older-functions", use_older},
    {"no-memory", read_back_nowhere},
    {"siglongjmp", jump},
    {"in-handler", handle},
    {"threads", make_threads},
    {"programs", start_programs},
    {"pending", stay_pending},
    {"sigwait", be_waited_for},
    {"signalfd", read_descriptor},
    {"own-handler", handle_later},
    {"signalfd-abort", abort_after_descriptor},
    {"signalfd-double-free", fail_after_descriptor},
    {"abort-in-handler", abort_in_handler},
    {"abort-under-own-mask", abort_under_own_mask},
    {"unblocked", unblock_later},
    {"ppoll", open_for_a_call},
    {"other-thread", leave_to_another},
};

bool crashlab_play_masks(const char *name) {
  for (size_t index = 0; index < sizeof scenes / sizeof *scenes; index++) {
    if (strcmp(scenes[index].name, name) != 0) continue;
    scenes[index].run();
    fflush(stdout);
    return true;
  }
  return false;
}
