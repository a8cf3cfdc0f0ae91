/// Groups of system calls that the handler makes in a crash, but can do without.
///
/// If a seccomp filter kills a process that makes some of these calls, forgo those calls, so that the crash's own
/// signal still ends the process. If the filter only makes calls fail with an error, forgo nothing.
/// `Docs/Internals/SystemCalls.md` lists the calls of each group.
///
/// Source: seccomp(2).
public struct SystemCalls: OptionSet, Sendable {
  /// The bits of the groups: one for each group, and for `files` also the bit of `proc`.
  public let rawValue: UInt32

  /// Creates a set from any bits; unknown bits have no effect.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// `openat` and all other calls that open, check, create, rename or change files.
  ///
  /// Without these calls, the handler writes the dump into the file that `startHandler` created, without checking
  /// that file, and the file keeps `.locked` in its name.
  ///
  /// This group includes the calls of `proc`.
  public static let files = SystemCalls(rawValue: CallBit.files | CallBit.proc)
  /// `read`, `getdents64`, `readlinkat`, `pread64`, `clock_gettime`, `getppid`, `getrusage`.
  ///
  /// Without these calls, reports lack the kernel's data about the process, for example mappings, other threads, times,
  /// and modules that the dynamic linker does not list.
  public static let proc = SystemCalls(rawValue: CallBit.proc)
  /// `tgkill`, `sigaltstack`, `timer_create`, `timer_settime`, `timer_delete`.
  ///
  /// Without these calls, other threads are not stopped, a fault in the handler ends the process, the handler's time is
  /// not limited, and no summary is written.
  public static let threads = SystemCalls(rawValue: CallBit.threads)
  /// `process_vm_readv`.
  ///
  /// Without this call, the handler reads memory directly, and recovers if that causes a fault.
  ///
  /// If `threads` is also forgone, reports contain registers but no memory.
  public static let memory = SystemCalls(rawValue: CallBit.memory)

  /// All groups.
  public static let all: SystemCalls = [.files, .threads, .memory]
}

extension SystemCalls {
  var areFilesMade: Bool { rawValue & CallBit.files == 0 }
}
