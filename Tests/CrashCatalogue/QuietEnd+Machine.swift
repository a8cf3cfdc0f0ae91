internal import CrashKinds
internal import Glibc

extension QuietEnd {
  /// False if this machine or user cannot cause this end: a cgroup needs root and a mounted hierarchy.
  public var canBeHad: Bool {
    guard kind == "out-of-memory" else { return true }
    let files: [String] = [
      "/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    guard unsafe access("/sys/fs/cgroup", W_OK) == 0 else { return false }
    return files.contains { unsafe access($0, F_OK) == 0 }
  }
}
