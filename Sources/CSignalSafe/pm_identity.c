#define _GNU_SOURCE
#include "pm_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// These references are weak, because otherwise the linker would add the functions to a static executable, and warn
// about them.
extern __typeof(getpwuid_r) getpwuid_r __attribute__((weak));
extern __typeof(getgrouplist) getgrouplist __attribute__((weak));

static uint32_t exchange(long call, uint32_t value) { return (uint32_t)syscall(call, value); }

uint32_t pm_file_user(void) { return exchange(SYS_setfsuid, UINT32_MAX); }

long pm_take_file_rights(uint32_t user, uint32_t group, const uint32_t *groups, size_t count) {
  int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  if (syscall(SYS_setgroups, count, groups) != 0) return -errno;
  // Neither of these two system calls reports a failure, so the IDs are read again afterward.
  exchange(SYS_setfsgid, group);
  exchange(SYS_setfsuid, user);
  if (dumpable == 1) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (exchange(SYS_setfsgid, UINT32_MAX) != group || pm_file_user() != user) return -EPERM;
  return 0;
}

int pm_is_mount_root(int directory) {
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
  struct statx status;
  if (statx(directory, "", AT_EMPTY_PATH, 0, &status) == 0 &&
      status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) {
    return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  struct stat own, above;
  return fstat(directory, &own) == 0 && fstatat(directory, "..", &above, 0) == 0 && own.st_dev != above.st_dev;
}

uint64_t pm_file_system(int descriptor) {
  struct statfs status;
  return fstatfs(descriptor, &status) == 0 ? (uint64_t)status.f_type : 0;
}

size_t pm_groups_of(uint32_t user, uint32_t *group, uint32_t *groups, size_t capacity) {
  if (!getpwuid_r || !getgrouplist) return 0;
  enum { SIZE = 64 << 10 };
  char *buffer = malloc(SIZE);
  if (!buffer) return 0;
  struct passwd entry, *found = NULL;
  size_t result = 0;
  if (getpwuid_r(user, &entry, buffer, SIZE, &found) == 0 && found) {
    int count = capacity > 65536 ? 65536 : (int)capacity;
    // If there are more groups than `groups` can hold, as many as fit are stored.
    int all = getgrouplist(entry.pw_name, entry.pw_gid, groups, &count);
    *group = entry.pw_gid;
    result = all >= 0 ? (size_t)all : capacity;
  }
  free(buffer);
  return result;
}
