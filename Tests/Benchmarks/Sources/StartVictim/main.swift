// The process whose start is measured: `start-victim [DATABASE]`. Without a database it starts no handler.
//
// Prints what `startHandler` took: nanoseconds of CPU time, minor page faults, and bytes by which the resident
// anonymous memory grew. A close(2) of -1 before and after marks the call for strace(1).
import Glibc
import PostmortemHandler

func processorTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

func pageFaults() -> Int {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_minflt
}

/// RssAnon of /proc/self/status, in KiB.
func residentMemory() -> Int {
  var bytes = [CChar](repeating: 0, count: 8192)
  let file = open("/proc/self/status", O_RDONLY)
  let count = read(file, &bytes, bytes.count - 1)
  close(file)
  guard count > 0, let line = strstr(bytes, "RssAnon:") else { return 0 }
  return atol(line + 8)
}

// Whatever these bind and touch first is not the handler's.
_ = (processorTime(), pageFaults(), residentMemory())
let memory = residentMemory()
let faults = pageFaults()
let time = processorTime()
close(-1)
if CommandLine.arguments.count > 1 { try startHandler(database: CommandLine.arguments[1]) }
close(-1)
let timeAfter = processorTime()
let faultsAfter = pageFaults()
print(timeAfter - time, faultsAfter - faults, residentMemory() - memory)
