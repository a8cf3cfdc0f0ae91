// Ends that the C++ runtime decides on.
#include <stdexcept>

#include "CCrashLab.h"

namespace {

// Calls a pure virtual function before the class that defines it has been constructed.
struct Base {
  Base() { call(); }
  virtual ~Base() {}
  virtual void pure() = 0;
  __attribute__((noinline)) void call() { pure(); }
};

struct Derived : Base {
  void pure() override {}
};

}  // namespace

extern "C" __attribute__((noinline)) void crash_cxx_exception(void) {
  throw std::runtime_error("nobody catches this either");
}

extern "C" __attribute__((noinline)) void crash_pure_virtual(void) {
  Derived derived;
  derived.pure();
  __asm__ volatile("");
}
