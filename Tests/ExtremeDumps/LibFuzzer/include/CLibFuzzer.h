// libFuzzer's interface. It is linked with -sanitize=fuzzer only; other builds call none of it.
// Source: compiler-rt include/fuzzer/FuzzerInterface.h, llvm.org/docs/LibFuzzer.html.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Changes `size` bytes in place, to at most `capacity`; returns how many there are then.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
