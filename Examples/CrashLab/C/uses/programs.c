// Other programs and forked children. The started program is this one: it shows what it inherited.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

extern char **environ;

static char *const shown[] = {"crash-lab", "use", "shown", "--no-handler", NULL};
static const char self[] = "/proc/self/exe";

// Runs before Swift's runtime or another library can change anything.
static uint64_t mask_at_start, ignored_at_start, pending_at_start;
static char own_open_files[256];
__attribute__((constructor)) static void look_at_start(void) {
  char line[256];
  FILE *file = fopen("/proc/thread-self/status", "re");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "SigBlk:", 7) == 0) mask_at_start = strtoull(line + 7, NULL, 16);
    if (strncmp(line, "SigIgn:", 7) == 0) ignored_at_start = strtoull(line + 7, NULL, 16);
    if (strncmp(line, "ShdPnd:", 7) == 0) pending_at_start = strtoull(line + 7, NULL, 16);
  }
  if (file) fclose(file);
  DIR *directory = opendir("/proc/self/fd");
  size_t used = 0;
  for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL && used < 200;)
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
      used += (size_t)snprintf(own_open_files + used, sizeof own_open_files - used, " %s", entry->d_name);
  if (directory) closedir(directory);
}

static void show(void) {
  use_say("starts with mask %016llx, ignored %016llx, pending %016llx, files%s\n", (unsigned long long)mask_at_start,
          (unsigned long long)ignored_at_start, (unsigned long long)pending_at_start, own_open_files);
}

static void spawn(const char *name, const char *path, const posix_spawnattr_t *attributes) {
  pid_t child;
  int result = posix_spawn(&child, path, NULL, attributes, shown, environ);
  if (result == 0) {
    use_await(child, name);
  } else {
    use_say("%s: %d\n", name, result);
  }
}
static void spawn_all(void) {
  posix_spawnattr_t attributes;
  sigset_t some = use_set(SIGUSR1, SIGABRT, SIGSEGV, 0), none = use_set(0);
  spawn("plain", self, NULL);
  spawn("missing", "/nowhere", NULL);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &some);
  spawn("with a mask", self, &attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  spawn("with no mask", self, &attributes);
  signal(SIGUSR2, SIG_IGN);
  spawn("ignoring", self, NULL);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigaddset(&none, SIGUSR2);
  posix_spawnattr_setsigdefault(&attributes, &none);
  spawn("with defaults", self, &attributes);
  posix_spawnattr_destroy(&attributes);
  pid_t child;
  if (posix_spawnp(&child, "crash-lab of nowhere", NULL, NULL, shown, environ) != 0) use_say("not found\n");
}
static void spawn_open(void) { spawn_all(); }
static void spawn_blocked(void) {
  use_block(SIGABRT, SIGUSR1, SIGRTMIN + 2, 0);
  spawn_all();
  use_tell("parent");
}
static void *spawn_on_thread(void *argument) {
  use_block(SIGHUP, SIGABRT, 0);
  spawn("thread", self, NULL);
  use_tell("thread");
  return argument;
}
static void spawn_there(void) { pthread_join(use_start(spawn_on_thread, NULL), NULL); }
// A program with every signal blocked inherits all but the signals of faults.
static void spawn_all_blocked(void) {
  use_block_all();
  spawn("all blocked", self, NULL);
}
static void spawn_in_handler(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information, (void)context;
  spawn("handler", self, NULL);
}
static void spawn_handled(void) {
  struct sigaction action = {.sa_sigaction = spawn_in_handler, .sa_flags = SA_SIGINFO};
  sigaddset(&action.sa_mask, SIGABRT);
  sigaddset(&action.sa_mask, SIGSEGV);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}

// -- exec -------------------------------------------------------------------------------------------------------------

static void become(int way) {
  switch (way) {
    case 0: execv(self, shown); break;
    case 1: execve(self, shown, environ); break;
    case 2: execvp(self, shown); break;
    case 3: execvpe(self, shown, environ); break;
    case 4: execl(self, shown[0], shown[1], shown[2], shown[3], (char *)NULL); break;
    case 5: execlp(self, shown[0], shown[1], shown[2], shown[3], (char *)NULL); break;
    case 6: execle(self, shown[0], shown[1], shown[2], shown[3], (char *)NULL, environ); break;
    case 7: fexecve(open(self, O_RDONLY | O_CLOEXEC), shown, environ); break;
    // Fails the first time, and then succeeds.
    case 8: execv("/nowhere", shown), execv(self, shown); break;
    case 9: syscall(SYS_execveat, AT_FDCWD, self, shown, environ, 0); break;
  }
  _exit(1);
}
static void exec_each(void) {
  for (int way = 0; way < 10; way++) {
    pid_t child = fork();
    if (child == 0) {
      use_block(SIGABRT, SIGUSR1 + way * 2, 0);
      become(way);
    }
    use_await(child, "exec");
  }
  pid_t child = vfork();
  if (child == 0) become(1);
  use_await(child, "vfork");
  errno = 0;
  int result = execl("/nowhere", "nowhere", (char *)NULL);
  use_say("exec of nothing: %d %d\n", result, errno);
}
static void become_another(void) {
  use_block(SIGABRT, SIGHUP, 0);
  use_send(SIGHUP);
  signal(SIGCHLD, SIG_IGN);
  become(0);
}
static void *become_on_thread(void *argument) {
  become(1);
  return argument;
}
static void become_there(void) {
  use_block(SIGABRT, 0);
  pthread_join(use_start(become_on_thread, NULL), NULL);
}

// A program that could not become another one goes on, and crashes as before.
static void fail_to_become(void) {
  use_block(SIGABRT, 0);
  execl("/nowhere", "nowhere", (char *)NULL);
  use_tell("failed");
  crash_null_call();
}

// -- Shells ------------------------------------------------------------------------------------------------------------

static void use_shells(void) {
  use_block(SIGUSR1, SIGABRT, 0);
  int status = system("exit 3");
  use_say("system: %d\n", WEXITSTATUS(status));
  status = system("kill -ABRT $$; exit 4");
  use_say("blocked in it: %d %d\n", WIFSIGNALED(status), WEXITSTATUS(status));
  FILE *pipe = popen("echo piped", "r");
  char line[32] = "";
  use_say("popen: %s", pipe && fgets(line, sizeof line, pipe) ? line : "nothing\n");
  use_say("pclose: %d\n", pipe ? pclose(pipe) : -1);
  use_tell("after");
}

// -- fork -------------------------------------------------------------------------------------------------------------

static void exit_plainly(void) { exit(5); }
static void exit_at_once(void) { _exit(6); }
static void exit_quickly(void) { quick_exit(7); }
static void die_of_term(void) { raise(SIGTERM); }
static void die_of_kill(void) { raise(SIGKILL); }
static void die_of_fault(void) { crash_null_call(); }
static void die_of_blocked_abort(void) {
  use_block_all();
  abort();
}
static void fork_again(void) {
  use_in_child("grandchild", exit_plainly);
  use_in_child("grandchild that faults", die_of_fault);
}
static void *fork_on_thread(void *argument) {
  use_in_child("from a thread", exit_plainly);
  use_in_child("from a thread, a fault", die_of_fault);
  return argument;
}
static void in_fork_child(void) {
  pthread_join(use_start(fork_on_thread, NULL), NULL);
  use_block(SIGABRT, 0);
  use_tell("child");
}
static void *sleep_on(void *argument) {
  for (;;) pause();
  return argument;
}
static void fork_each(void) {
  for (int index = 0; index < 3; index++) use_start(sleep_on, NULL);
  use_in_child("exit", exit_plainly);
  use_in_child("_exit", exit_at_once);
  use_in_child("quick_exit", exit_quickly);
  use_in_child("term", die_of_term);
  use_in_child("kill", die_of_kill);
  use_in_child("fault", die_of_fault);
  use_in_child("abort", abort);
  use_in_child("blocked abort", die_of_blocked_abort);
  use_in_child("fork", fork_again);
  use_in_child("threads", in_fork_child);
  pthread_join(use_start(fork_on_thread, NULL), NULL);
}
static void fork_raw(void) {
  pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(8);
  use_await(child, "clone");
  child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    use_block(SIGABRT, SIGUSR1, 0);
    use_tell("clone");
    die_of_fault();
  }
  use_await(child, "clone, a fault");
  child = vfork();
  if (child == 0) _exit(9);
  use_await(child, "vfork");
  child = vfork();
  if (child == 0) {
    sigset_t none = use_set(0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    become(0);
  }
  use_await(child, "vfork, another program");
  use_tell("parent");
}

static int in_clone(void *argument) {
  use_say("in a clone: %s\n", (const char *)argument);
  return 10;
}
static void clone_with_stack(void) {
  static char stack[64 << 10];
  pid_t child = clone(in_clone, stack + sizeof stack, SIGCHLD, "own memory");
  use_await(child, "clone");
  child = clone(in_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, "shared memory");
  use_await(child, "clone");
}

// -- daemon --------------------------------------------------------------------------------------------------------------

static void daemonize(int keeps_directory, int keeps_files) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) _exit(85);
  pid_t child = fork();
  if (child == 0) {
    int result = daemon(keeps_directory, keeps_files);
    char directory[256] = "", text[512];
    const char *null = "/dev/null", *found = getcwd(directory, sizeof directory);
    char link[64] = "";
    ssize_t size = readlink("/proc/self/fd/1", link, sizeof link - 1);
    int length = snprintf(text, sizeof text, "daemon %d: root %d, null %d, leads a session %d\n", result,
                          found && strcmp(directory, "/") == 0, size > 0 && strcmp(link, null) == 0,
                          getsid(0) == getpid());
    ssize_t ignored = write(pipes[1], text, (size_t)length);
    (void)ignored;
    _exit(0);
  }
  use_await(child, "first");
  close(pipes[1]);
  char text[512];
  ssize_t size;
  while ((size = read(pipes[0], text, sizeof text - 1)) > 0) {
    text[size] = 0;
    use_say("%s", text);
  }
  close(pipes[0]);
}
static void make_daemons(void) {
  daemonize(0, 0);
  daemonize(1, 0);
  daemonize(0, 1);
  daemonize(1, 1);
}

const struct use uses_of_programs[] = {
    {"shown", NULL, show},
    {"programs-spawned", NULL, spawn_open},
    {"programs-spawned-blocked", NULL, spawn_blocked},
    {"programs-spawned-thread", NULL, spawn_there},
    {"programs-spawned-all-blocked", NULL, spawn_all_blocked},
    {"programs-spawned-handler", NULL, spawn_handled},
    {"programs-exec", NULL, exec_each},
    {"programs-become", NULL, become_another},
    {"programs-become-thread", NULL, become_there},
    {"programs-not-become", NULL, fail_to_become},
    {"programs-shells", NULL, use_shells},
    {"programs-forked", NULL, fork_each},
    {"programs-forked-raw", NULL, fork_raw},
    {"programs-cloned", NULL, clone_with_stack},
    {"programs-daemons", NULL, make_daemons},
    {NULL, NULL, NULL},
};
