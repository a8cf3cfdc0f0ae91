// Compares malloc and free of a preloaded library with those of the allocator after it: `guard-heap-pairs LIBRARY`.
#include <CAllocationPairs.h>
#include <stdio.h>

int main(int count, char **arguments) {
  if (count == 2) return compare_allocation_pairs(arguments[1]);
  fprintf(stderr, "usage: guard-heap-pairs LIBRARY\n");
  return 64;
}
