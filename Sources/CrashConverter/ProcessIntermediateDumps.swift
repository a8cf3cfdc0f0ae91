internal import CrashReport
public import CrashReportDatabase
public import IntermediateDump
internal import PendingDumps

/// Makes reports from the dumps in a database, and about runs that ended before they could write a dump, for example
/// by SIGKILL or a reboot.
///
/// The call reads, converts and waits for the disk, which takes tens of milliseconds per dump. Any number of threads
/// and processes may call this function at the same time; only one of them at a time converts a given dump. A dump is
/// removed only once its report would survive a power cut. A dump that cannot be converted stays, and the next call
/// tries again. The third failure moves the dump to the quarantine directory; failures that the machine caused, such as
/// a full disk, do not count. If a process ends during the second attempt, other than by a crash on another thread, the
/// third attempt does not convert the dump: it moves the dump to quarantine, or deletes the dump if its report already
/// exists.
///
/// If root calls this function for another user's database, a separate thread converts the dumps with that user's file
/// permissions. This thread also calls `userStreams` and `progress`, with the same permissions.
///
/// - Parameters:
///   - path: the database's directory; created if it is missing.
///   - identifier: the program whose dumps come first. If nothing shows whether the owner of a locked dump is alive, a
///     dump of this program is converted after a day without a write, and a dump of another program after 60 days. Pass
///     nil for a tool that converts the dumps of all programs.
///   - annotations: added to every full report; they replace a dump's annotations of the same name.
///   - limit: the maximum number of dumps of other programs that are converted, including failed attempts; there is
///     no limit without an identifier.
///   - storingSymbols: whether each report stores function names and lines, mainly of its crashing thread, from the
///     files that are on this machine now. Finding them takes at most about 2 seconds per dump, and 4 seconds per call.
///   - userStreams: the sources of additional minidump streams for the reports that are made from dumps.
///   - pruning: which reports are removed from the database between and after the conversions, whatever their program
///     is and whether they were uploaded or not. Nothing is removed if there was no dump to convert.
///   - privacy: the privacy level, which determines the secrets that reports may contain; secrets that the handler has
///     left out stay left out. Only full reports contain annotations, streams of `userStreams` and attachments.
///   - progress: called after each dump with the number of dumps that were examined so far and the number of all
///     dumps. Other converters may take some of these dumps.
/// - Returns: the results, in the order of processing. A dump that is left for another call has a result with the
///   reason, for example that its owner may still write to it, or that another converter works on it. Some dumps have
///   no result, for example a dump that `limit` leaves out, a dump that another converter takes first, or an empty file
///   from which no report is made.
/// - Throws: `CrashConverterError` only if no dump can be processed at all.
public func processIntermediateDumps(
  database path: String, identifier: String? = nil, annotations: [String: String] = [:],
  limit: Int = 20, storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = [],
  pruning: PruneCondition = PruneCondition(), privacy: ReportPrivacy = .full,
  progress: (_ done: Int, _ count: Int) -> Void = { _, _ in }
) throws(CrashConverterError) -> [ProcessedDump] {
  try processIntermediateDumps(
    database: path, after: nil, identifier: identifier, annotations: annotations, limit: limit,
    storingSymbols: storingSymbols, userStreams: userStreams, pruning: pruning, privacy: privacy,
    progress: progress)
}

/// Makes reports from a database's dumps, and reports how an observed process ended, using its wait status.
///
/// In all other respects, the function acts like `processIntermediateDumps(database:)`.
///
/// - Parameter symbolDirectories: directories to search for more files of the same builds, by build ID and by name.
package func processIntermediateDumps(
  database path: String, after observedEnd: ObservedEnd?, identifier: String? = nil,
  annotations: [String: String] = [:], limit: Int = 20, storingSymbols: Bool = true,
  symbolDirectories: [String] = [], userStreams: [any UserStreamDataSource] = [],
  pruning: PruneCondition = PruneCondition(), privacy: ReportPrivacy,
  progress: (_ done: Int, _ count: Int) -> Void
) throws(CrashConverterError) -> [ProcessedDump] {
  try withOwnersRights(to: path) { () throws(CrashConverterError) in
    let database = try openDatabase(path)
    let pending = try openPendingDirectory(
      of: database, identifier: identifier, observedEnd: observedEnd)
    // Room is made before anything is written, because nothing can be claimed or converted on a full file system.
    let room = VolumeRoom(of: pending.root.descriptor)
    if room?.isTight == true {
      prune(database, pruning)
      CrashReportDatabase.boundDumps(
        of: pending.root, in: pending.directory, host: pending.host)
    }
    let files: [PendingDirectory.File]
    do throws(CrashReportDatabaseError) {
      files = try pending.files()
    } catch {
      throw CrashConverterError(.pendingDirectoryUnusable, error)
    }
    let conversion = DumpConversion(
      database: database, annotations: annotations,
      symbols: storingSymbols ? SymbolBudget(directories: symbolDirectories) : nil,
      userStreams: UserStreams(sources: userStreams), privacy: privacy)
    var processed: [ProcessedDump] = []
    var (foreignCount, workedOn) = (0, 0)
    var unpruned: Int64 = 0
    let prunedSize = room?.limit(pruning.maximumSize) ?? pruning.maximumSize
    let dumps = pending.dumps(among: files)
    for (index, file) in dumps.enumerated() {
      defer { progress(index + 1, dumps.count) }
      let isForeign = pending.identifier != nil && file.name.identifier != pending.identifier
      if isForeign, foreignCount >= limit { break }
      guard let dump = process(file, conversion, pending) else { continue }
      processed.append(dump)
      if dump.outcome.kind == .left { continue }
      if isForeign { foreignCount += 1 }
      workedOn += 1
      unpruned = unpruned.clampedAdding(max(0, file.size))
      // Pruning between dumps keeps the reports of many dumps from accumulating. In this way, even a program that
      // runs only for a second removes old reports. Pruning reads all reports, so it does not run after every dump.
      // It runs after the 20th dump, each time the dumps since the last pruning exceed a quarter of the maximum size,
      // and once at the end.
      if workedOn == 20 || unpruned > prunedSize / 4 {
        prune(database, pruning)
        unpruned = 0
      }
    }
    if workedOn > 0 { prune(database, pruning) }
    pending.removeOrphans(among: files)
    return processed
  }
}

/// Removes the reports that exceed the limits; a report that cannot be removed now is removed at the next pruning.
private func prune(_ database: CrashReportDatabase, _ condition: PruneCondition) {
  _ = try? database.prune(condition)
}

func openPendingDirectory(
  of database: CrashReportDatabase, identifier: String?, observedEnd: ObservedEnd? = nil
) throws(CrashConverterError) -> PendingDirectory {
  do throws(CrashReportDatabaseError) {
    return try PendingDirectory(
      database: try database.open(),
      identifier: identifier.map(PendingDumpName.identifier(reducing:)),
      observedEnd: observedEnd)
  } catch {
    throw CrashConverterError(.pendingDirectoryUnusable, error)
  }
}

/// Claims a file in the pending directory and makes its report; returns nil if the file no longer exists, or if there
/// was nothing to report.
func process(
  _ file: PendingDirectory.File, _ conversion: borrowing DumpConversion,
  _ pending: borrowing PendingDirectory
) -> ProcessedDump? {
  func dump(
    _ outcome: ProcessedDump.Outcome, _ reportID: ReportID? = nil,
    _ summary: ProcessedDump.Summary? = nil
  ) -> ProcessedDump {
    if let counter = outcome.counter { OutcomeCounters.count(counter) }
    return ProcessedDump(
      reportID: reportID ?? file.name.reportID, fileName: file.name.description, outcome: outcome,
      summary: summary)
  }
  do throws(CrashReportDatabaseError) {
    switch try pending.claim(file) {
    case .gone: return nil
    case .left(let reason, let time): return dump(.left(reason, until: time))
    case .taken(let claim):
      let (outcome, reportID, summary) = process(claim, conversion, pending)
      return outcome.map { dump($0, reportID, summary) }
    }
  } catch {
    // An empty file is reported as left and not as failed, because nothing shows that a dump exists.
    return dump(
      file.size == 0 ? .left(error.description, until: nil) : .failed(error.description))
  }
}

private func process(
  _ claim: DumpClaim, _ conversion: borrowing DumpConversion,
  _ pending: borrowing PendingDirectory
) -> (ProcessedDump.Outcome?, ReportID?, ProcessedDump.Summary?) {
  do throws(DumpConversion.Failure) {
    // This check runs only in the last attempt, after an earlier converter died on this dump. If this process also
    // dies during the check, the next process moves the dump to quarantine without the check.
    if claim.isSetAside, claim.attempt == PendingDirectory.maximumAttempts,
      try conversion.isReported(claim, in: pending.directory)
    {
      try? pending.removeAll(of: claim.name, dump: claim.name)
      return (nil, nil, nil)
    }
    guard !claim.isSetAside else {
      throw DumpConversion.Failure(
        reason: "not read again: \(claim.attempt &- 1) attempts before, the last of which ended its"
          + " converter", isOfDump: true)
    }
    if let run = claim.run {
      // An owner that was wrongly treated as dead may have crashed in the meantime, and may be writing its dump.
      guard try isEmpty(claim, pending) else {
        return (keepForLater(claim, "its owner writes to it", pending), nil, nil)
      }
      guard let isTold = try conversion.isToldByHang(run, in: pending) else {
        return (keepForLater(claim, "the dump of its hang comes first", pending), nil, nil)
      }
      if isTold {
        try? pending.removeAll(of: claim.name, dump: claim.name)
        return (nil, nil, nil)
      }
      let summary = try conversion.convert(run, claim.name)
      if try isEmpty(claim, pending) {
        try? pending.removeAll(of: claim.name, dump: claim.name)
      } else {
        try? pending.giveBack(claim, countsAttempt: false)
      }
      return (summary.map { _ in .ended(run.end.text) }, nil, summary)
    }
    let result = try conversion.convert(claim, in: pending)
    if result.isWhole {
      // If the file cannot be removed now, a later call finds and removes it, because its report exists.
      try? pending.removeAll(of: claim.name, dump: claim.name)
    } else {
      // More bytes were written after the dump was read. So a later call converts the dump again, to a separate report
      // that contains these bytes.
      try? pending.giveBack(claim, countsAttempt: false)
    }
    return (
      result.damage.map { .torn($0.description) } ?? .complete, result.reportID, result.summary
    )
  } catch {
    return (keep(claim, after: error, pending), nil, nil)
  }
}

private func isEmpty(
  _ claim: DumpClaim, _ pending: borrowing PendingDirectory
) throws(DumpConversion.Failure) -> Bool {
  do throws(CrashReportDatabaseError) {
    return try pending.isEmpty(claim)
  } catch {
    throw DumpConversion.Failure(error)
  }
}

private func keepForLater(
  _ claim: DumpClaim, _ reason: String, _ pending: borrowing PendingDirectory
) -> ProcessedDump.Outcome {
  do throws(CrashReportDatabaseError) {
    try pending.giveBack(claim, countsAttempt: false)
    return .left(reason, until: nil)
  } catch {
    return .failed("\(reason); and it could not be given back: \(error)")
  }
}

private func keep(
  _ claim: DumpClaim, after failure: DumpConversion.Failure,
  _ pending: borrowing PendingDirectory
) -> ProcessedDump.Outcome {
  var reason = failure.reason
  if failure.isOfDump, claim.attempt >= PendingDirectory.maximumAttempts {
    do throws(CrashReportDatabaseError) {
      try pending.quarantine(claim, reason: reason)
      return .quarantined(reason)
    } catch {
      reason += "; and it could not be moved to quarantine: \(error)"
    }
  }
  do throws(CrashReportDatabaseError) {
    try pending.giveBack(claim, countsAttempt: failure.isOfDump)
  } catch {
    // The dump stays claimed by this process; after this process has ended, another conversion takes the dump.
    reason += "; and it could not be given back: \(error)"
  }
  return .failed(reason)
}

extension ProcessedDump.Outcome {
  /// The counter for this outcome; nil for a dump that is left for another call.
  fileprivate var counter: WritableKeyPath<OutcomeCounters, Int>? {
    switch kind {
    case .complete: \.complete
    case .torn: \.torn
    case .ended: \.ended
    case .failed: \.failed
    case .quarantined: \.quarantined
    default: nil
    }
  }
}

func openDatabase(_ path: String) throws(CrashConverterError) -> CrashReportDatabase {
  do throws(CrashReportDatabaseError) {
    return try CrashReportDatabase(path: path)
  } catch {
    throw CrashConverterError(.databaseUnusable, error)
  }
}
