// Crashes and waits that the C++ runtime causes.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
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

struct Tagged {
  virtual ~Tagged() {}
  int tag = 7;
};

// Its std::logic_error is a subobject after the other base.
class ImportError : public Tagged, public std::invalid_argument {
 public:
  ImportError() : std::invalid_argument("line 3 has no comma") {}
};

__attribute__((noinline)) void import() { throw ImportError(); }

// The call goes through a pointer, because the compiler warns about an exception that visibly
// leaves the next function.
void (*volatile importer)() = import;

__attribute__((noinline)) void importOrDie() noexcept {
  importer();
  __asm__ volatile("");
}

crashlab_body heldBody;
void *heldContext;

struct AtEnd {
  ~AtEnd() {
    if (heldBody) heldBody(heldContext);
  }
};

// Constructed before the handler starts, and therefore destroyed after everything that is
// registered later.
AtEnd atEnd;

}  // namespace

extern "C" void condition_in_static_destructor(crashlab_body body, void *context) {
  heldBody = body;
  heldContext = context;
  exit(0);
}

extern "C" __attribute__((noinline)) void crash_cxx_exception(void) {
  throw std::runtime_error("nobody catches this either");
}

extern "C" __attribute__((noinline)) void crash_cxx_noexcept(void) {
  importOrDie();
  __asm__ volatile("");
}

extern "C" __attribute__((noinline)) void crash_pure_virtual(void) {
  Derived derived;
  derived.pure();
  __asm__ volatile("");
}

namespace {
struct Prices {
  Prices();
};
struct Rates {
  Rates();
};

Prices &prices() {
  static Prices value;
  return value;
}

Rates &rates() {
  static Rates value;
  return value;
}

int started;

bool have_met() { return __atomic_load_n(&started, __ATOMIC_SEQ_CST) == 2; }

void meet() {
  __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
  while (!have_met()) usleep(1000);
}

Prices::Prices() {
  meet();
  rates();
}

Rates::Rates() {
  meet();
  prices();
}

void *ask_prices(void *) { return &prices(); }
void *ask_rates(void *) { return &rates(); }
}  // namespace

void crashlab_cross_statics(void) {
  pthread_t thread;
  pthread_create(&thread, nullptr, ask_prices, nullptr);
  pthread_create(&thread, nullptr, ask_rates, nullptr);
  while (!have_met()) usleep(1000);
  usleep(300000);
}

// 50 of the truth table: like std::thread, a worker must be joined before it is destroyed.
namespace {
struct Worker {
  bool isJoinable = false;
  ~Worker() {
    if (isJoinable) std::terminate();
  }
};

struct BadLine {
  int line;
};

__attribute__((noinline)) void parse_lines(int count) {
  if (count > 2) throw BadLine{count};
}

__attribute__((noinline)) void import_in_background(int count) {
  try {
    parse_lines(count);
  } catch (const BadLine &) {
    Worker worker;
    worker.isJoinable = count > 0;
    __asm__ volatile("");
  }
}
}  // namespace

extern "C" void crash_import_in_background(void) {
  import_in_background(3);
  __asm__ volatile("");
}
