#ifndef C_ALLOCATION_PAIRS_H
#define C_ALLOCATION_PAIRS_H

// Compares the program's malloc and free with those of a loaded library, alternately in one thread, and prints
// nanoseconds of CPU time. The library's functions are measured twice, which shows how far equal runs differ.
//
// Returns the exit status.
int compare_allocation_pairs(const char *library);

#endif
