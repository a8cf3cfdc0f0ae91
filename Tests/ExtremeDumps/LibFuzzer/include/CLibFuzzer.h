// libFuzzer's interface. It is linked only with -sanitize=fuzzer; other builds do not call it.
// Source: compiler-rt include/fuzzer/FuzzerInterface.h, llvm.org/docs/LibFuzzer.html.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Changes `size` bytes in place, and may extend them to at most `capacity`; returns the new size.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
