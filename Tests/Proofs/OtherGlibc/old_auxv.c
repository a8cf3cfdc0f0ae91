// A preloaded library: it hides the auxiliary vector's entries for the size of a signal frame and
// for the instructions that read the FS base. Source: getauxval(3).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/auxv.h>

unsigned long getauxval(unsigned long type) {
  unsigned long (*next)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
  if (type == 51) {  // AT_MINSIGSTKSZ
    errno = ENOENT;
    return 0;
  }
  return type == AT_HWCAP2 ? 0 : next(type);
}
