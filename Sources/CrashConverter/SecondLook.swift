internal import CSignalSafe
package import CrashReport
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// Examines the threads of a running process again after its dump, to distinguish a deadlock from threads that
/// continue.
///
/// If a dump does not stop the threads, their system calls are read first, and the locks later. In between, a thread
/// can get the lock that it waited for, and then seems to wait for itself. The second look uses only threads that did
/// not run from its beginning to its end. Such threads have waited all the time, so all facts about them are of one
/// moment.
package struct SecondLook {
  private let processID: Int32

  package init(at processID: Int32) { self.processID = processID }

  /// The deadlocks of a snapshot that still exist; nil if the kernel does not show the threads or their memory.
  package func deadlocks(of waits: SnapshotWaits) -> [Deadlock]? {
    later(than: waits.snapshot).map(waits.deadlocks)
  }

  /// The same threads and memory as they are now.
  ///
  /// Threads that run, or that are in another call than in the snapshot, have no system call in the result.
  private func later(than snapshot: ProcessSnapshot) -> ProcessSnapshot? {
    let runs = snapshot.threads.map { runCount(of: $0.id) }
    let calls = snapshot.threads.map { systemCall(of: $0.id) }
    let memory = snapshot.memory.regions.compactMap(read)
    // If the kernel does not let this process read the memory, it does not show the system calls either.
    guard !memory.isEmpty else { return nil }
    var later = snapshot
    later.memory = MemorySnapshot(joining: memory)
    for index in later.threads.indices {
      let thread = snapshot.threads[index]
      let isSame =
        thread.systemCall.map { Self.words($0) == calls[index].map(Self.words) }
        // For the thread that wrote the dump, the snapshot has registers instead of a system call.
        ?? (thread.captureMethod == .crashed)
      let isStill = runs[index] != nil && runs[index] == runCount(of: thread.id)
      later.threads[index].systemCall = isSame && isStill ? calls[index] : nil
      later.threads[index].context = nil
    }
    return later
  }

  private static func words(_ text: String) -> [Substring] {
    text.split(whereSeparator: \.isWhitespace)
  }

  /// The line of proc_pid_syscall(5); nil for a thread that runs or has ended.
  private func systemCall(of thread: UInt32) -> String? {
    let text = SystemFile.text("/proc/\(processID)/task/\(thread)/syscall")
    return text.flatMap { $0.hasPrefix("running") ? nil : $0 }
  }

  /// The lines of proc_pid_status(5) that count how often the thread has stopped running; nil if it has ended.
  private func runCount(of thread: UInt32) -> [Substring]? {
    let text = SystemFile.text("/proc/\(processID)/task/\(thread)/status")
    return text?.split(separator: "\n").filter { $0.contains("ctxt_switches") }
  }

  /// The first bytes of a region of the dump as they are now; nil if none can be read.
  private func read(_ region: MemoryRegion) -> MemoryRegion? {
    let address = UInt(exactly: region.address.value)
    guard let start = unsafe address.flatMap({ unsafe UnsafeRawPointer(bitPattern: $0) }) else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: region.count)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pm_copy_memory(processID, buffer.baseAddress, start, buffer.count)
    }
    return count > 0
      ? MemoryRegion(address: region.address, bytes: Array(bytes.prefix(count))) : nil
  }
}

extension ProcessSnapshot {
  /// Removes the deadlocks that the second look refuted, by removing the arguments of their threads' system calls.
  ///
  /// Only threads that were not stopped are changed.
  mutating func removeDeadlocks(refutedBy look: SecondLook, symbols: SymbolSource) {
    let waits = SnapshotWaits(of: self, symbols: symbols)
    guard !waits.deadlocks.isEmpty, let real = look.deadlocks(of: waits) else { return }
    let waiting = Set(waits.deadlocks.flatMap { $0.waits.map(\.threadID) })
    let refuted = waiting.subtracting(real.flatMap { $0.waits.map(\.threadID) })
    for index in threads.indices
    where refuted.contains(threads[index].id) && threads[index].captureMethod == .kernel {
      threads[index].systemCall = threads[index].systemCallNumber.map { "\($0)" }
    }
  }
}
