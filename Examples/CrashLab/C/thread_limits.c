// Threads under memory limits.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>

#include "CCrashLab.h"

static void set_limit(int resource, size_t soft) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) abort();
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  if (setrlimit(resource, &limit) != 0) abort();
}

void crashlab_limit_address_space(size_t bytes) { set_limit(RLIMIT_AS, bytes); }

void crashlab_limit_data(size_t bytes) { set_limit(RLIMIT_DATA, bytes); }

// Drops the capability that lifts the limit; the user stays the same.
void crashlab_lock_memory(size_t bytes) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) abort();
  data[0].effective &= ~(1u << CAP_IPC_LOCK);
  if (syscall(SYS_capset, &header, data) != 0) abort();
  set_limit(RLIMIT_MEMLOCK, bytes);
  if (mlockall(MCL_FUTURE) != 0) abort();
}

void crashlab_unlimit(void) {
  munlockall();
  set_limit(RLIMIT_AS, ~(size_t)0);
  set_limit(RLIMIT_DATA, ~(size_t)0);
}

static void *wait_for_ever(void *began) {
  sem_post(began);
  for (;;) pause();
  return NULL;
}

int crashlab_make_threads(int most, size_t stack_size) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, stack_size) != 0) abort();
  int made = 0;
  pthread_t thread;
  sem_t began;
  sem_init(&began, 0, 0);
  while (made < most && pthread_create(&thread, &attributes, wait_for_ever, &began) == 0) {
    made++;
    // Waits until the thread has allocated all the memory that it needs.
    while (sem_wait(&began) == -1 && errno == EINTR) {
    }
  }
  return made;
}

int crashlab_count_arenas(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream || malloc_info(0, stream) != 0) abort();
  fclose(stream);
  int count = 0;
  for (const char *place = text; (place = strstr(place, "<heap nr=")); place++) count++;
  free(text);
  return count;
}
