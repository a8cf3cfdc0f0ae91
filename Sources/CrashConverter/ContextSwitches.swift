internal import CrashAnalysis
internal import IntermediateDump
internal import PendingDumps
package import ProcessSnapshot
package import Stackwalk

/// The number of context switches of each thread of a process, counted before a dump of the process is requested.
///
/// If a dump does not stop the threads, their system calls are read first, and the locks later. In between, a thread
/// can get the lock that it waited for, and then seems to wait for itself. If a waiting thread has had no context
/// switch since the count, it has waited all the time. So all facts about this thread describe the same moment. The
/// kernel shows these counts to every user who sees the process, even if Yama restricts ptrace(2).
///
/// Source: proc_pid_status(5), State, voluntary_ctxt_switches and nonvoluntary_ctxt_switches. The kernel counts a
/// context switch when a thread stops running, not when it starts (kernel/sched/core.c, `__schedule`). So a thread's
/// counts do not change while it waits.
package struct ContextSwitches {
  private let processID: Int32
  /// The counts, by the thread's ID in the PID namespace of the process, which a dump contains.
  private var counts: [UInt32: [Substring]] = [:]
  /// The IDs that this process's `/proc` shows, by the IDs that the dump contains.
  private var listed: [UInt32: UInt32] = [:]

  /// Counts the context switches of all threads of a process, with four system calls per thread.
  ///
  /// If the process does not exist, there are no counts, and `hasRun` returns false for every thread.
  package init(of processID: Int32) {
    self.processID = processID
    let directory = try? Directory(path: "/proc/\(processID)/task")
    let names = (try? directory?.names()) ?? []
    for id in names.compactMap(UInt32.init) {
      guard let count = Self.count(of: id, in: processID) else { continue }
      let own = count.ownID ?? id
      listed[own] = id
      counts[own] = count.lines
    }
  }

  /// True if the thread has run, started or ended since the switches were counted; false if there are no counts, or if
  /// the process has ended.
  package func hasRun(_ thread: UInt32) -> Bool {
    guard !counts.isEmpty, Self.exists(processID) else { return false }
    guard let id = listed[thread], let count = Self.count(of: id, in: processID),
      count.lines == counts[thread]
    else { return true }
    return count.lines.contains { $0.hasPrefix("State:\tR") }
  }

  private static func exists(_ processID: Int32) -> Bool {
    SystemFile.text("/proc/\(processID)/stat") != nil
  }

  /// The status lines with the thread's state and its two counts of context switches, and the thread's ID in the PID
  /// namespace of its process; nil if the thread has ended or its status cannot be read.
  ///
  /// Source: proc_pid_status(5), NSpid.
  private static func count(
    of thread: UInt32, in processID: Int32
  ) -> (lines: [Substring], ownID: UInt32?)? {
    let text = SystemFile.text("/proc/\(processID)/task/\(thread)/status")
    guard let lines = text?.split(separator: "\n") else { return nil }
    let ids = lines.first { $0.hasPrefix("NSpid:") }?.split { $0 == "\t" || $0 == " " }
    let counts = lines.filter { $0.hasPrefix("State:") || $0.contains("ctxt_switches") }
    return (counts, ids?.last.flatMap { UInt32($0) })
  }
}

extension ProcessSnapshot {
  /// Removes deadlocks with threads that have run since `switches` was counted, by removing the arguments of these
  /// threads' system calls.
  ///
  /// Other waits are kept, and so are threads that were stopped: their registers and calls describe the same moment.
  package mutating func removeDeadlocks(
    ofThreadsThatRanSince switches: ContextSwitches, symbols: SymbolSource
  ) {
    let waiting = Set(
      Deadlock.all(in: self, symbols: symbols).flatMap { $0.waits.map(\.threadID) })
    for index in threads.indices
    where waiting.contains(threads[index].id) && threads[index].captureMethod == .kernel
      && switches.hasRun(threads[index].id)
    {
      threads[index].systemCall = threads[index].systemCallNumber.map { "\($0)" }
    }
  }
}
