// What the comparisons of this package's functions with libc's share.
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

// The functions that this package defines in front of libc's: the program's own, or libc's.
struct functions {
  int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
  int (*sigprocmask)(int, const sigset_t *, sigset_t *);
  int (*signalfd)(int, const sigset_t *, int);
  int (*sigaltstack)(const stack_t *, stack_t *);
  int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  int (*daemon)(int, int);
  void (*exit)(int);
  void (*exit_too)(int);
  void (*abort)(void);
};
extern struct functions functions;

void functions_compare_masks(void);
void functions_compare_stacks(void);
void functions_compare_threads(void);
void functions_compare_ends(void);
void functions_compare_daemons(void);

// Runs the body in a forked child, and prints how the child ended.
void functions_in_child(const char *name, void (*body)(const void *), const void *argument);

// Memory without access, and memory that can only be read.
extern void *functions_nowhere, *functions_read_only;

#endif
