internal import CSignalSafe
internal import Glibc
package import IntermediateDump
internal import PendingDumps

/// The dump of a hang in progress.
///
/// No converter converts this dump while the process runs and the hang lasts.
///
/// If the process ends during the hang, the dump is converted to a report, unless the process exits after a call of
/// `expectExit`. A call of `drop`, or a crash whose dump is complete, removes the dump. Not crash code; only one thread
/// may use this value.
@safe
package struct HangDump: Sendable {
  /// Which part of the program hung, and facts about the hang.
  package struct Description: Sendable {
    package var name: String
    package var target: HangTarget
    package var threadEvidence: HangThreadEvidence
    /// The ID of the thread that answered last; nil if there is none, or if it has ended.
    ///
    /// `threadEvidence` shows whether this thread is known to be the hung thread.
    package var threadID: Int32?
    /// The time in nanoseconds after which the watched part of the program counts as hung.
    package var threshold: UInt64
    package var time: UInt64
    /// The CPU time, in nanoseconds, that the thread `threadID` has used during the hang; nil if it is not known.
    package var processorTime: UInt64?

    package init(
      name: String, target: HangTarget, threadEvidence: HangThreadEvidence, threadID: Int32?,
      threshold: UInt64,
      time: UInt64, processorTime: UInt64?
    ) {
      self.name = name
      self.target = target
      self.threadEvidence = threadEvidence
      self.threadID = threadID
      self.threshold = threshold
      self.time = time
      self.processorTime = processorTime
    }
  }

  /// The ID of the report to which the dump will be converted.
  package let reportID: ReportID
  /// The time at which the dump began, by CLOCK_BOOTTIME in nanoseconds.
  package let time: UInt64
  private let index: Int
  /// The mapping that shows other processes that this process is alive; removed when the dump is dropped or kept.
  private let recordMapping: RecordMapping
  /// The process that took the dump; a forked child has a copy of this object, and must not change its parent's
  /// files.
  private let processID: Int32
  private let timeOffset: Int64
  private let processorTimeOffset: Int64

  /// Takes the dump.
  ///
  /// Signals stop all running threads, because any of them may hold what the hung thread waits for. A thread that is waiting when the handler reads its state gets no signal, because the signal
  /// could end its system call with EINTR.
  ///
  /// - Throws: `CrashHandlerError`, for example if dumps of eight hangs in progress already exist.
  package init(taking description: Description) throws(CrashHandlerError) {
    var request = DumpRequest()
    request.kind = .hang
    request.stops = .running
    request.target = description.target
    request.threshold = description.threshold
    request.time = description.time
    request.processorTime = description.processorTime ?? .max
    request.threadEvidence = description.threadEvidence
    let dump = try LiveDump(
      request, name: description.name, subject: description.threadID ?? pm_gettid(),
      suffix: ".hang")
    let dumps = dump.capture.shared.hangDumps
    let index = dumps.take()
    guard index >= 0 else {
      throw CrashHandlerError(.dumpFailed, "\(HangDumps.capacity) hangs have dumps already")
    }
    do throws(CrashHandlerError) {
      time = pm_boot_clock()
      _ = try dump.take()
      // From now on, the crash handler can find the dump and empty it. So the dump gets its final name only after this
      // call. Otherwise, if the program crashed before this call, both the hang and the crash would get a report.
      dumps.fill(index, dump.capture.session.files, dump.capture.session.names)
      reportID = try dump.rename()
    } catch {
      dumps.close(index)
      throw error
    }
    // `rename` may have replaced the session's file and names, so they are read only now.
    dumps.fill(index, dump.capture.session.files, dump.capture.session.names)
    // From now on, the descriptors belong to the entry in the list of hang dumps, so this dump's session gives them up.
    dump.capture.session.files.dump.descriptor = -1
    dump.capture.session.files.fifo.descriptor = -1
    recordMapping = dump.capture.session.runRecord.mapping
    dump.capture.session.runRecord.mapping = RecordMapping()
    processID = pm_getpid()
    self.index = index
    timeOffset = dump.capture.session.request.timeOffset
    processorTimeOffset = dump.capture.session.request.processorTimeOffset
  }

  /// Updates the hang's duration and CPU time, in nanoseconds; does nothing once the dump is dropped or kept.
  package func update(time: UInt64, processorTime: UInt64?) {
    guard let dumps else { return }
    dumps.overwrite(index, time, at: timeOffset)
    if let processorTime { dumps.overwrite(index, processorTime, at: processorTimeOffset) }
  }

  /// Removes the dump, because the hung part has answered.
  package func drop() {
    guard let dumps, let directory = Self.directory else { return }
    dumps.removeFiles(index, directory: directory)
    close(dumps)
  }

  /// Makes `exit` and `_exit` remove the dump; called when the program stops the hang detection (`Watch.stop`).
  package func expectExit() { dumps?.expectExit(index) }

  /// Keeps the dump, so that it is converted to a report even though the hung part has answered.
  package func keep() {
    guard let dumps, let directory = Self.directory else { return }
    let name = unsafe String(cString: dumps.name(index, 0))
    if let finished = PendingDumpName(fileName: name)?.with(role: .finished) {
      _ = unsafe renameat(directory, name, directory, finished.description)
    }
    close(dumps)
  }

  private func close(_ dumps: HangDumps) {
    dumps.close(index)
    var mapping = recordMapping
    mapping.remove()
  }

  private var dumps: HangDumps? {
    guard processID == pm_getpid() else { return nil }
    return Capture.ofHandler?.shared.hangDumps
  }

  private static var directory: Int32? {
    Capture.ofHandler?.session.files.directory.descriptor
  }
}
