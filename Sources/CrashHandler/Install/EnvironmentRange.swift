internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Finds the arguments, the environment and the auxiliary vector, at the top of the main thread's stack.
///
/// Not crash code.
enum EnvironmentRange {
  /// Finds the addresses of this process's arguments and environment.
  ///
  /// The range ends at the end of the main thread's stack mapping, where the kernel puts the executable's name and a
  /// null pointer. If the kernel does not pass the name's address (AT_EXECFN), as under an emulator, or the dynamic
  /// linker has replaced that address, this function finds that end in `/proc/thread-self/maps` instead, which takes
  /// ten times as long.
  ///
  /// - Parameter start: field 28 of `/proc/pid/stat` (proc_pid_stat(5)); 0 if the kernel does not show that field.
  ///
  /// Source: Linux fs/exec.c, fs/binfmt_elf.c; getauxval(3), AT_EXECFN.
  static func current(
    from start: UInt64 = ProcessStatistics.current()?.stackStart ?? 0
  ) -> AddressRange {
    guard start != 0 else { return AddressRange() }
    let name = pm_program_run_by_loader() == 0 ? pm_executable_name() : 0
    if let text = unsafe UnsafePointer<CChar>(bitPattern: UInt(name)), name > start,
      name - start < 64 << 20
    {
      let pageSize = UInt64(max(sysconf(Int32(_SC_PAGESIZE)), 4096))
      let end = name + UInt64(unsafe strnlen(text, Int(PATH_MAX))) + 1 + 8
      return AddressRange(
        start: start, count: Int((end + pageSize - 1) / pageSize * pageSize - start))
    }
    for line in (SystemFile.text("/proc/thread-self/maps") ?? "").lazyLines {
      let limits = line.prefix { $0 != " " }.split(separator: "-")
      guard limits.count == 2, let first = UInt64(digits: limits[0], radix: 16),
        let last = UInt64(digits: limits[1], radix: 16)
      else { continue }
      if start >= first, start < last {
        return AddressRange(start: start, count: Int(last - start))
      }
    }
    return AddressRange()
  }
}
