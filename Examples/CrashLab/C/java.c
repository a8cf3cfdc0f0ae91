// A Java virtual machine in this process, called through JNI's function tables, whose offsets the
// specification defines: crash-lab can be built without the header of a JDK. Source: JNI
// Specification, chapters 4 and 5.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "CCrashLab.h"

typedef void **const *jni;

struct java_option {
  const char *text;
  void *extra;
};
struct java_arguments {
  int32_t version;
  int32_t count;
  struct java_option *options;
  uint8_t ignores_unknown;
};
struct java_method {
  const char *name, *signature;
  void *function;
};

enum { JNI_VERSION = 0x00010008 };
enum { ATTACH_THREAD = 4 };
enum {
  FIND_CLASS = 6,
  GET_STATIC_METHOD = 113,
  CALL_STATIC_VOID = 141,
  NEW_STRING = 167,
  REGISTER_NATIVES = 215,
  EXCEPTION_CHECK = 228,
};

static int (*handle_signal)(int, void *, void *, int);
static jni machine;
static int taken;

static _Noreturn void give_up(const char *reason) {
  fprintf(stderr, "crash-lab: Java: %s\n", reason);
  exit(70);
}

static bool take(int signal, void *information, void *context) {
  if (handle_signal(signal, information, context, 0) == 0) return false;
  __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
  return true;
}

bool (*crashlab_java_first_chance(void))(int, void *, void *) { return take; }
int crashlab_java_faults(void) { return __atomic_load_n(&taken, __ATOMIC_RELAXED); }

// A native method, whose fault the virtual machine does not handle.
static void write_null(jni environment, void *class) {
  (void)environment, (void)class;
  *(volatile char *)crashlab_address(0) = 1;
}

void crashlab_make_java_machine(const char *library, const char *directory) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (!handle) give_up(dlerror());
  int (*create)(jni *, jni *, struct java_arguments *) = (int (*)(jni *, jni *, struct java_arguments *))dlsym(handle, "JNI_CreateJavaVM");
  handle_signal = (int (*)(int, void *, void *, int))dlsym(handle, "JVM_handle_linux_signal");
  if (!create || !handle_signal) give_up("no such functions");
  char classes[4096], error[4096];
  snprintf(classes, sizeof classes, "-Djava.class.path=%s", directory);
  snprintf(error, sizeof error, "-XX:ErrorFile=%s/hs_err.log", directory);
  // With this option, only the first compiler is used, which leaves null checks to the hardware
  // however often they fail.
  struct java_option options[] = {{classes, NULL}, {error, NULL}, {"-XX:TieredStopAtLevel=1", NULL}};
  struct java_arguments arguments = {JNI_VERSION, sizeof options / sizeof *options, options, 0};
  jni environment;
  if (create(&machine, &environment, &arguments) != 0) give_up("no machine");
}

void crashlab_run_java(const char *name) {
  jni environment;
  int (*attach)(jni, jni *, void *) = (int (*)(jni, jni *, void *))(*machine)[ATTACH_THREAD];
  if (attach(machine, &environment, NULL) != 0) give_up("not attached");
  void **functions = *environment;
  void *class = ((void *(*)(jni, const char *))functions[FIND_CLASS])(environment, "Play");
  if (!class) give_up("no class");
  struct java_method method = {"writeNull", "()V", (void *)write_null};
  ((int (*)(jni, void *, struct java_method *, int))functions[REGISTER_NATIVES])(environment, class, &method, 1);
  void *play = ((void *(*)(jni, void *, const char *, const char *))functions[GET_STATIC_METHOD])(environment, class, "play", "(Ljava/lang/String;)V");
  if (!play) give_up("no method");
  void *text = ((void *(*)(jni, const char *))functions[NEW_STRING])(environment, name);
  ((void (*)(jni, void *, void *, ...))functions[CALL_STATIC_VOID])(environment, class, play, text);
  if (((uint8_t(*)(jni))functions[EXCEPTION_CHECK])(environment)) give_up("an exception");
}
