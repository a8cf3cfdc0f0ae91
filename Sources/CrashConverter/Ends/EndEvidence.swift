internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// All evidence about a run that left an empty or truncated dump, and the rules that derive how the run ended.
///
/// A verdict needs evidence that the program did not end itself, because a false report is worse than no report.
struct EndEvidence: Sendable {
  /// What the owner's process ID refers to now.
  enum Process: Sendable, Equatable {
    /// The process no longer exists, cannot be examined, or shows nothing about the run's end.
    case none
    /// The process has the same ID and start time, but runs another program, because it has called exec.
    case replaced(by: String?)
    /// The process has ended, and its wait status is known: either the converter's own process waited for it, as
    /// `postmortem run` does, or it is a zombie whose status the kernel shows.
    case ended(waitStatus: Int32)
  }

  var record: RunRecord
  var process = Process.none
  /// The boot ID of this host; nil if it cannot be read.
  var bootID: String?
  /// When this machine was started, in nanoseconds since 1970.
  var bootTime: Int64?
  /// The number of processes that the machine's kernel has killed since the boot because memory ran out.
  var machineKills: UInt64?
  /// The number of processes in the run's cgroup that were killed because memory ran out; nil if the cgroup no longer
  /// exists or is not visible to this process.
  var groupKills: UInt64?
  /// True if the kernel's log names the process as killed because memory ran out.
  var isInKernelLog = false
  /// The number of other processes that the kernel's log names as killed because memory ran out, since the launch.
  var othersInKernelLog: UInt64 = 0
  /// True if the process is known to have begun another run later, by exec.
  var hasLaterRun = false

  /// The maximum time in nanoseconds between the last heartbeat and the machine's boot for the verdict `rebooted`.
  ///
  /// If more time passed, the process may have ended before the reboot for another reason.
  static let rebootSlack: Int64 = 300_000_000_000
  /// The minimum time in nanoseconds between a stop signal and the last heartbeat for a stop timeout to count as
  /// likely.
  static let shortestStopTimeout: Int64 = 1_000_000_000

  /// How the run ended.
  ///
  /// The verdict is nil if the process exited, or was ended by a request (SIGHUP, SIGINT or SIGTERM) or by SIGPIPE. It
  /// is also nil if the evidence does not rule this out.
  var verdict: RunEnd? {
    // Without the boot ID in the run's record, it is unknown whether the machine's counters cover the time of the
    // run.
    guard let course = record.course, course.notes.end == nil, !record.bootID.isEmpty else {
      return nil
    }
    if case .ended(let status) = process {
      // The wait status is certain evidence, and a status without a signal means that the process exited. An end by
      // SIGHUP, SIGINT or SIGTERM was requested, and SIGPIPE ends a program whose reader has exited, so none of these
      // ends is reported.
      let signal = status & 0x7F
      return [0, 1, 2, 13, 15].contains(signal) ? nil : killed(course, by: signal)
    }
    if let termination = course.notes.termination, termination.reaction == .defaultAction {
      return nil
    }
    if case .replaced(let program) = process { return replaced(course, by: program) }
    if hasLaterRun { return replaced(course, by: nil) }
    if let end = outOfMemory(course), end.certainty == .certain { return end }
    // If the handler does not record calls of `_exit`, the run may have ended by such a call, so there is no verdict.
    guard course.followsExits else { return nil }
    if let bootID, record.bootID != bootID { return rebooted(course) }
    return outOfMemory(course) ?? hung(course) ?? stopTimeout(course)
      ?? make(.unexplained, .possible, course)
  }

  // MARK: - Rules

  private func killed(_ course: RunCourse, by signal: Int32) -> RunEnd {
    if signal == 9, var end = outOfMemory(course) ?? hung(course) ?? stopTimeout(course) {
      end.evidence.append("Its wait status says that SIGKILL ended it.")
      end.certainty = max(end.certainty ?? .possible, .likely)
      return end
    }
    var end = make(.killed, .certain, course)
    end.signal = signal
    end.evidence.insert("Its wait status says that signal \(signal) ended it.", at: 0)
    return end
  }

  private func replaced(_ course: RunCourse, by program: String?) -> RunEnd {
    var end = make(.replaced, .certain, course)
    let name = program.map { ", \($0)" } ?? ""
    end.evidence.insert(
      hasLaterRun
        ? "The same process (ID and start time) began another run later."
        : "Process \(record.processID) lives, with the same start time and another program\(name).",
      at: 0)
    return end
  }

  private func outOfMemory(_ course: RunCourse) -> RunEnd? {
    if isInKernelLog {
      var end = make(.outOfMemory, .certain, course)
      end.evidence.insert(
        "The kernel's log says that it killed process \(record.processID).", at: 0)
      return end
    }
    guard record.bootID == bootID, let seen = course.heartbeat ?? course.launch else { return nil }
    // If the log names another process for each kill that the machine counted, this process was not killed for memory.
    let killed = Self.growth(course.launch?.machineKills, machineKills)
    guard killed == 0 || othersInKernelLog < killed else { return nil }
    let group = Self.growth(seen.groupKills, groupKills)
    let machine = Self.growth(seen.machineKills, machineKills)
    let isNearGroupLimit = Self.isNear(seen.memoryUsed, of: seen.memoryLimit)
    let isMachineFull =
      seen.availableMemory.flatMap { available in
        seen.machineMemory.map { available < $0 / 20 }
      } ?? false
    let isLargest =
      seen.residentMemory.flatMap { used in seen.machineMemory.map { used > $0 / 2 } } ?? false
    // If the cgroup contains several processes, the killed process may be another one, so more evidence is needed.
    if group > 0, seen.memoryLimit != nil, isNearGroupLimit || seen.groupProcesses == 1 {
      return make(.outOfMemory, .likely, course)
    }
    // If the run's container was removed, its cgroup and the cgroup's counter no longer exist, and only the machine's
    // counter is left.
    if machine > 0, course.heartbeat != nil {
      if groupKills == nil, isNearGroupLimit { return make(.outOfMemory, .likely, course) }
      if isMachineFull, isLargest { return make(.outOfMemory, .likely, course) }
    }
    return nil
  }

  private func rebooted(_ course: RunCourse) -> RunEnd {
    if let heartbeat = course.heartbeat, let bootTime,
      heartbeat.time < bootTime.clampedSubtracting(Self.rebootSlack)
    {
      return make(.unexplained, .possible, course)
    }
    return make(.rebooted, course.heartbeat == nil ? .possible : .likely, course)
  }

  private func hung(_ course: RunCourse) -> RunEnd? {
    course.heartbeat?.hangReport == nil ? nil : make(.hungThenKilled, .likely, course)
  }

  private func stopTimeout(_ course: RunCourse) -> RunEnd? {
    guard let termination = course.notes.termination else { return nil }
    let last = course.heartbeat.map { $0.time.subtractingReportingOverflow(termination.time) }
    // If the handler was not allowed to read clocks, the time of the signal is unknown (0), so the verdict is only
    // possible.
    let livedOn =
      termination.time != 0
      && last.map { !$0.overflow && $0.partialValue >= Self.shortestStopTimeout } ?? false
    var end = make(.stopTimeout, livedOn ? .likely : .possible, course)
    end.signal = Int32(exactly: termination.signal)
    return end
  }

  private static func growth(_ before: UInt64?, _ after: UInt64?) -> UInt64 {
    guard let before, let after, after > before else { return 0 }
    return after &- before
  }

  /// True if at least nine tenths of the limit are used.
  private static func isNear(_ used: UInt64?, of limit: UInt64?) -> Bool {
    guard let used, let limit, limit > 0 else { return false }
    return used >= limit &- limit / 10
  }

  private func make(
    _ kind: RunEnd.Kind, _ certainty: RunEnd.Certainty, _ course: RunCourse
  ) -> RunEnd {
    var end = RunEnd()
    end.kind = kind
    end.certainty = certainty
    end.evidence = EndSentences(evidence: self, course: course).all
    return end
  }
}
