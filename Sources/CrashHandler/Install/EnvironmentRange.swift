internal import Glibc
internal import PendingDumps

/// The place of the arguments, the environment and the auxiliary vector, at the top of the main
/// thread's stack.
struct EnvironmentRange {
  /// The stack pointer that the program started with: it points to the count of arguments, and all
  /// frames lie below.
  ///
  /// 0 if the kernel does not tell.
  let start: UInt64
  /// The end of the mapping.
  let end: UInt64

  /// Reads it from /proc.
  ///
  /// Source: proc_pid_stat(5), field 28.
  static func current() -> EnvironmentRange {
    let start = ProcessStatistics.current()?.stackStart ?? 0
    let lines = SystemFile.text("/proc/self/maps")?.split(separator: "\n") ?? []
    for line in lines {
      let limits = line.prefix { $0 != " " }.split(separator: "-")
      guard limits.count == 2, let first = UInt64(limits[0], radix: 16),
        let last = UInt64(limits[1], radix: 16)
      else { continue }
      if start >= first, start < last { return EnvironmentRange(start: start, end: last) }
    }
    return EnvironmentRange(start: 0, end: 0)
  }
}
