#define _GNU_SOURCE
#include "include/CAllocationPairs.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 1500, PAIRS = 8192, HELD = 256 };

struct functions {
  void *(*volatile allocate)(size_t);
  void (*volatile release)(void *);
};

static double cpu_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

// Each block is freed at once.
static void same_size(const struct functions *functions) {
  for (int i = 0; i < PAIRS; i++) functions->release(functions->allocate(64));
}

// Blocks of 16 to 1,024 bytes, of which 256 are held at a time.
static void mixed(const struct functions *functions) {
  void *held[HELD] = {NULL};
  uint32_t random = 1;
  for (int i = 0; i < PAIRS; i++) {
    random = random * 1664525 + 1013904223;
    void **place = &held[random >> 24];
    functions->release(*place);
    *place = functions->allocate(16 << (random >> 16) % 7);
  }
  for (int i = 0; i < HELD; i++) functions->release(held[i]);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double quantile(double *values, double part) {
  qsort(values, ROUNDS, sizeof *values, compare);
  return values[(int)((ROUNDS - 1) * part)];
}

static void measure(const char *name, void (*pattern)(const struct functions *), const struct functions contenders[3]) {
  static double times[3][ROUNDS], difference[ROUNDS], noise[ROUNDS], ratio[ROUNDS];
  for (int round = -50; round < ROUNDS; round++)
    for (int i = 0; i < 3; i++) {
      // The order rotates, so that no contender profits from its place.
      int contender = (round + 50 + i) % 3;
      double start = cpu_time();
      pattern(&contenders[contender]);
      if (round >= 0) times[contender][round] = (cpu_time() - start) / PAIRS;
    }
  for (int round = 0; round < ROUNDS; round++) {
    difference[round] = times[0][round] - times[1][round];
    noise[round] = times[2][round] - times[1][round];
    ratio[round] = times[0][round] / times[1][round];
  }
  printf(
      "%-10s %7.2f %7.2f %7.2f   %6.2f %6.2f %6.2f   %6.2f   %6.3f\n", name, quantile(times[0], 0.5),
      quantile(times[1], 0.5), quantile(times[2], 0.5), quantile(difference, 0.25), quantile(difference, 0.5),
      quantile(difference, 0.75), quantile(noise, 0.5), quantile(ratio, 0.5));
}

int compare_allocation_pairs(const char *library) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) {
    fprintf(stderr, "%s is not loaded\n", library);
    return 64;
  }
  struct functions next = {dlsym(handle, "malloc"), dlsym(handle, "free")};
  struct functions contenders[3] = {{dlsym(RTLD_DEFAULT, "malloc"), dlsym(RTLD_DEFAULT, "free")}, next, next};
  if (contenders[0].allocate == next.allocate) {
    fprintf(stderr, "nothing is in front of %s\n", library);
    return 64;
  }
  printf(
      "%-10s %7s %7s %7s   %6s %6s %6s   %6s   %6s\n", "", "heap", "next", "next", "25%", "diff", "75%", "noise",
      "ratio");
  measure("64 bytes", same_size, contenders);
  measure("mixed", mixed, contenders);
  return 0;
}
