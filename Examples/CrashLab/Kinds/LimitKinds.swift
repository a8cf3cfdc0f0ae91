internal import CCrashLab
internal import Glibc

// Signals with which the kernel enforces a limit or a rule. Dispatch and task workers block all of them except
// SIGSYS, so a crash there is either impossible or happens on another thread.

extension CrashKind {
  static let limitKinds: [CrashKind] = [
    CrashKind("seccomp") { crash_seccomp() },
    CrashKind("cpu-limit") { crash_cpu_limit() },
    CrashKind("file-size-limit") { crash_file_size_limit() },
    CrashKind("pipe") { crash_pipe() },
  ]
}

@inline(never)
func crash_cpu_limit() {
  // The limit counts the CPU time of the whole process since its start, in seconds.
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
  limit.rlim_cur = 1
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
  spin()
}

@inline(never) @_optimize(none)
private func spin() {
  var turns = 0
  while turns >= 0 { turns &+= turns < 1_000_000 ? 1 : -1_000_000 }
}

@inline(never)
func crash_file_size_limit() {
  guard let file = unsafe tmpfile() else { return }
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
  // Less than a dump, but more than a few crashes print on a standard error that is a file.
  limit.rlim_cur = 65_536
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
  unsafe pwrite(fileno(file), "x", 1, 65_536)
  stayOnTheStack()
}

@inline(never)
func crash_pipe() {
  var ends: [Int32] = [-1, -1]
  unsafe pipe(&ends)
  close(ends[0])
  unsafe write(ends[1], "x", 1)
  stayOnTheStack()
}
