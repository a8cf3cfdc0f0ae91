// Signals that ask a process to end, to stop or to continue, and broken pipes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrashLab.h"
#include "uses.h"

static const int requests[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGALRM, SIGXCPU, SIGXFSZ};
enum { request_count = sizeof requests / sizeof *requests };

static int current;
static void raise_it(void) { raise(current); }
static void send_it(void) {
  kill(getpid(), current);
  for (;;) pause();
}
static void block_and_open(void) {
  use_block(current, 0);
  raise(current);
  use_tell("blocked");
  sigset_t set = use_set(current, 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
static void open_for_a_call(void) {
  sigset_t none = use_set(0);
  use_block(current, 0);
  kill(getpid(), current);
  sigsuspend(&none);
}
static void wait_for_it(void) {
  sigset_t set = use_set(current, 0);
  int taken = 0;
  use_block(current, 0);
  kill(getpid(), current);
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}
static void ignore_it(void) {
  signal(current, SIG_IGN);
  raise(current);
  signal(current, SIG_DFL);
  use_say("ignored\n");
}
static void note(int signal, siginfo_t *information, void *context) {
  (void)context;
  use_say("handler of %d, code %d\n", signal, information->si_code);
}
static void handle_it(void) {
  use_handle(current, note, 0);
  raise(current);
  signal(current, SIG_DFL);
  raise(current);
}
static void *wait_here(void *argument) {
  for (;;) pause();
  return argument;
}
static void raise_on_thread(void) {
  pthread_t thread = use_start(wait_here, NULL);
  pthread_kill(thread, current);
  for (;;) pause();
}
static void end_by_each(void) {
  void (*const ways[])(void) = {raise_it,  send_it,   block_and_open, open_for_a_call,
                                wait_for_it, ignore_it, handle_it,      raise_on_thread};
  for (int way = 0; way < 8; way++)
    for (int index = 0; index < request_count; index++) {
      current = requests[index];
      use_in_child("child", ways[way]);
    }
}
// The same in a process with its own handler's state, once for each way.
static void end_by_term(void) {
  current = SIGTERM;
  block_and_open();
}
static void end_by_open_call(void) {
  current = SIGQUIT;
  open_for_a_call();
  use_say("came back\n");
}
static void end_by_thread(void) {
  current = SIGHUP;
  raise_on_thread();
}

// -- Broken pipes ---------------------------------------------------------------------------------------------------

static int broken_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) _exit(72);
  close(ends[0]);
  return ends[1];
}
static void write_it(void) {
  ssize_t size = write(broken_pipe(), "x", 1);
  use_say("wrote %zd %d\n", size, errno);
}
static void write_ignoring(void) {
  signal(SIGPIPE, SIG_IGN);
  write_it();
}
static void write_blocking(void) {
  use_block(SIGPIPE, 0);
  write_it();
  use_tell("pending");
  sigset_t set = use_set(SIGPIPE, 0);
  int taken = 0;
  sigwait(&set, &taken);
  use_say("took %d\n", taken);
}
static void write_handling(void) {
  use_handle(SIGPIPE, note, SA_RESTART);
  write_it();
}
static void send_without_signal(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) _exit(72);
  close(pair[1]);
  ssize_t size = send(pair[0], "x", 1, MSG_NOSIGNAL);
  use_say("sent %zd %d\n", size, errno);
}
static void *write_there(void *argument) {
  write_it();
  return argument;
}
static void write_on_thread(void) { pthread_join(use_start(write_there, NULL), NULL); }
static void break_pipes(void) {
  use_in_child("default", write_it);
  use_in_child("ignored", write_ignoring);
  use_in_child("blocked", write_blocking);
  use_in_child("handled", write_handling);
  use_in_child("without a signal", send_without_signal);
  use_in_child("on a thread", write_on_thread);
}
static void break_pipe(void) {
  write_handling();
  write_ignoring();
  signal(SIGPIPE, SIG_DFL);
  write_it();
}

// -- Children ---------------------------------------------------------------------------------------------------------

static void report(int status) {
  use_say("stopped %d continued %d exited %d signal %d\n", WIFSTOPPED(status) ? WSTOPSIG(status) : 0,
          WIFCONTINUED(status) != 0, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
static void stop_and_continue(void) {
  for (int round = 0; round < 2; round++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      if (round == 1) use_block_all();
      raise(SIGSTOP);
      for (;;) pause();
    }
    waitpid(child, &status, WUNTRACED);
    report(status);
    kill(child, SIGCONT);
    waitpid(child, &status, WCONTINUED);
    report(status);
    kill(child, round == 0 ? SIGTERM : SIGKILL);
    waitpid(child, &status, 0);
    report(status);
  }
}
static volatile int children;
static void note_child(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)context;
  use_say("child: code %d status %d\n", information->si_code, information->si_status);
  children++;
}
static void hear_of_children(void) {
  use_handle(SIGCHLD, note_child, SA_RESTART);
  pid_t child = fork();
  if (child == 0) _exit(3);
  use_wait_for(&children, 1);
  use_await(child, "exited");
  child = fork();
  if (child == 0) abort();
  use_wait_for(&children, 2);
  use_await(child, "aborted");
  signal(SIGCHLD, SIG_IGN);
  child = fork();
  if (child == 0) _exit(4);
  int status = 0;
  pid_t result = waitpid(child, &status, 0);
  use_say("ignored: %d %d\n", result == -1, errno);
}

static void follow_parent(int signal) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) _exit(72);
  pid_t child = fork();
  if (child == 0) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) _exit(72);
    pid_t grandchild = fork();
    if (grandchild == 0) {
      use_block(signal, 0);
      prctl(PR_SET_PDEATHSIG, signal);
      if (write(ready[1], "x", 1) != 1) _exit(72);
      sigset_t set = use_set(signal, 0);
      siginfo_t information = {0};
      int taken = sigwaitinfo(&set, &information);
      char text[64];
      int size = snprintf(text, sizeof text, "took %d code %d\n", taken, information.si_code);
      if (write(pipes[1], text, (size_t)size) != size) _exit(72);
      _exit(0);
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1) _exit(72);
    _exit(0);
  }
  use_await(child, "parent");
  close(pipes[1]);
  char text[64];
  ssize_t size;
  while ((size = read(pipes[0], text, sizeof text)) > 0) use_say("%.*s", (int)size, text);
  close(pipes[0]);
}
static void follow_parents(void) {
  follow_parent(SIGABRT);
  follow_parent(SIGTERM);
  follow_parent(SIGUSR1);
}

const struct use uses_of_requests[] = {
    {"requests-each", NULL, end_by_each},
    {"requests-term", NULL, end_by_term},
    {"requests-open-for-call", NULL, end_by_open_call},
    {"requests-thread", NULL, end_by_thread},
    {"requests-pipes", NULL, break_pipes},
    {"requests-pipe", NULL, break_pipe},
    {"requests-stopped", NULL, stop_and_continue},
    {"requests-children", NULL, hear_of_children},
    {"requests-parents", NULL, follow_parents},
    {NULL, NULL, NULL},
};
