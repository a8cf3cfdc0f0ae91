import Glibc
import PostmortemHandler

/// Prints the cost of `startHandler`.
///
/// The cost is nanoseconds of CPU time, minor page faults, and the KiB by which the resident anonymous memory
/// grows. A close(2) of -1 before and after marks the call for strace(1).
enum StartFigures {
  static func print(_ database: String?) throws {
    // Calls each function once, so that binding and first accesses do not count for the handler.
    _ = (processorTime(CLOCK_PROCESS_CPUTIME_ID), pageFaults(), Memory.now())
    let memory = Memory.now()
    let faults = pageFaults()
    let time = processorTime(CLOCK_PROCESS_CPUTIME_ID)
    close(-1)
    if let database { try startHandler(database: database) }
    close(-1)
    let timeAfter = processorTime(CLOCK_PROCESS_CPUTIME_ID)
    let faultsAfter = pageFaults()
    let grown = Memory.now().anonymous - memory.anonymous
    Swift.print(timeAfter - time, faultsAfter - faults, grown)
  }

  private static func pageFaults() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_minflt
  }
}

/// The CPU time of the process or the thread, in nanoseconds.
func processorTime(_ clock: clockid_t) -> Int {
  var time = timespec()
  clock_gettime(clock, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The process's resident memory, in KiB.
struct Memory {
  /// Memory that this process has written: it is not shared, and cannot be read from a file again.
  var dirty = 0
  var anonymous = 0

  /// Source: proc_pid_smaps_rollup(5).
  static func now() -> Memory {
    var bytes = [CChar](repeating: 0, count: 4096)
    let file = open("/proc/self/smaps_rollup", O_RDONLY)
    let count = read(file, &bytes, bytes.count - 1)
    close(file)
    func value(_ name: String) -> Int {
      guard count > 0, let line = strstr(bytes, name) else { return 0 }
      return atol(line + name.utf8.count)
    }
    return Memory(dirty: value("Private_Dirty:"), anonymous: value("\nAnonymous:"))
  }
}
