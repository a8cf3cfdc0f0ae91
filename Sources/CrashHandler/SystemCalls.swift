/// System calls that a crash makes and can do without.
///
/// Forgo those on which a seccomp filter kills the process, so that it still dies of its crash. A
/// filter that answers with an error needs none of this.
///
/// Source: seccomp(2).
public struct SystemCalls: OptionSet, Sendable {
  /// One bit for each group.
  public let rawValue: UInt32

  /// Any bits; unknown ones mean nothing.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// `process_vm_readv`: memory is read directly, and a fault of that is caught.
  public static let memoryReads = SystemCalls(rawValue: CallBit.memoryReads)
  /// `tgkill`: other threads are not stopped; those that the kernel holds in a system call are read
  /// from `/proc`.
  public static let threadSignals = SystemCalls(rawValue: CallBit.threadSignals)
  /// `timer_create`, `timer_settime`: nothing bounds the handler's time.
  public static let timers = SystemCalls(rawValue: CallBit.timers)
  /// `prlimit64`: under a soft `RLIMIT_FSIZE` that is too low there is no dump.
  public static let fileSizeLimit = SystemCalls(rawValue: CallBit.fileSizeLimit)
  /// `prctl` with PR_GET_NAME, `sched_getscheduler`, `getpriority`: name and scheduling of each thread
  /// are read from `/proc`, with three calls more.
  public static let scheduling = SystemCalls(rawValue: CallBit.scheduling)
  /// `getrusage`: reports lack the CPU time.
  public static let processorTime = SystemCalls(rawValue: CallBit.processorTime)
  /// `getppid`: reports lack the parent.
  public static let parent = SystemCalls(rawValue: CallBit.parent)
  /// `clock_gettime`: reports lack the time of the crash and the capture's own.
  public static let clocks = SystemCalls(rawValue: CallBit.clocks)
  /// `openat`, `read`, `readlinkat`, `getdents64`, `close`, `ftruncate`, `mknodat`, `fallocate`, `fchown`, `mmap`,
  /// `madvise`, `munmap`, `fcntl`, `pwrite64` and `unlinkat`: nothing of `/proc` is read, so that reports lack
  /// mappings, other threads, and modules that the dynamic linker does not list; no file is made in a crash, in place of one that was
  /// closed or removed, for a forked child, or for the crash after one that was survived; and the
  /// dump of a hang stays.
  public static let files = SystemCalls(rawValue: CallBit.files)
  /// `pread64`: memory that a thread of the program serves is waited for; reports lack what the cgroup used;
  /// a guard region within a mapping is likely only; a dump whose file is removed while it is written is
  /// lost.
  public static let cgroup = SystemCalls(rawValue: CallBit.cgroup)
  /// `fstat`: descriptors are used unchecked; if the program has closed them and opened others, the
  /// dump goes into those.
  public static let fileChecks = SystemCalls(rawValue: CallBit.fileChecks)
  /// `lseek`: a dump ends where a write was broken off.
  public static let filePosition = SystemCalls(rawValue: CallBit.filePosition)
  /// `renameat2`: dumps keep `.locked` in their names; they are complete by their end mark.
  public static let rename = SystemCalls(rawValue: CallBit.rename)
  /// `mkdirat`: a removed directory is not made again.
  public static let directories = SystemCalls(rawValue: CallBit.directories)
  /// `getrandom`: the report ID of a file made in the crash comes from the clock.
  public static let random = SystemCalls(rawValue: CallBit.random)
  /// `sigaltstack`: a fault of the handler itself ends the process at once, so that memory is read
  /// by `process_vm_readv` alone; and nothing bounds the handler's time.
  public static let faultStack = SystemCalls(rawValue: CallBit.faultStack)
  /// `unshare`: where a thread that could not be stopped puts a file of the program's in the place of
  /// the dump's, a part of the dump may go into it before the dump is written again.
  public static let descriptorTable = SystemCalls(rawValue: CallBit.descriptorTable)

  /// All of them.
  public static let all = SystemCalls(rawValue: (1 << 17) - 1)
}
