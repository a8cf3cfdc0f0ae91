internal import CrashReport
public import CrashReportDatabase
internal import IntermediateDump

/// Makes reports of the dumps that crashed processes left in a database, and of runs that ended
/// without one and not by their own will.
///
/// Reads, converts and waits for the disk: tens of milliseconds a dump. Any number of threads and
/// processes may do it at once; each dump becomes one report. A dump is removed only once its
/// report would survive a power cut. A dump that cannot be converted stays and is tried again at
/// the next call; the third failure moves it to the quarantine folder.
///
/// - Parameters:
///   - path: the database's folder; made if it is missing.
///   - identifier: the program whose dumps come first, and whose abandoned ones are judged dead
///     after a day where nothing better is known. Nil for a tool that takes everybody's.
///   - annotations: added to every report; a name that a dump has too gets this value.
///   - limit: the most dumps of other programs that are taken; without an identifier there is no
///     limit.
///   - storingSymbols: whether each report keeps the functions and lines of its crashing thread,
///     from the files that are on this machine now; about 2 seconds a dump and 4 a call at most.
///   - userStreams: asked for streams of every report.
///   - pruning: which of the database's reports are too many afterwards; they are removed, whoever's
///     they are and whether they were uploaded or not.
///   - progress: told after each dump how many of how many were looked at. Some of these may turn
///     out to be other converters'.
/// - Returns: what was done, dump by dump, in that order. A dump whose owner is alive, or on which
///   another converter works, is not among them.
/// - Throws: `CrashConverterError` only where no dump can be processed at all.
public func processIntermediateDumps(
  database path: String, identifier: String? = nil, annotations: [String: String] = [:],
  limit: Int = 20, storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = [],
  pruning: PruneCondition = PruneCondition(),
  progress: (_ done: Int, _ count: Int) -> Void = { _, _ in }
) throws(CrashConverterError) -> [ProcessedDump] {
  let database: CrashReportDatabase
  do throws(CrashReportDatabaseError) {
    database = try CrashReportDatabase(path: path)
  } catch {
    throw CrashConverterError(.databaseUnusable, error)
  }
  let pending = try openPendingFolder(of: database, identifier: identifier)
  let files: [PendingFolder.File]
  do throws(CrashReportDatabaseError) {
    files = try pending.files()
  } catch {
    throw CrashConverterError(.pendingFolderUnusable, error)
  }
  let conversion = DumpConversion(
    database: database, annotations: annotations, symbols: storingSymbols ? SymbolBudget() : nil,
    userStreams: UserStreams(sources: userStreams))
  var processed: [ProcessedDump] = []
  var foreignCount = 0
  let dumps = pending.dumps(among: files)
  for (index, file) in dumps.enumerated() {
    defer { progress(index + 1, dumps.count) }
    let isForeign = pending.identifier != nil && file.name.identifier != pending.identifier
    if isForeign, foreignCount >= limit { break }
    let outcome: ProcessedDump.Outcome
    do throws(CrashReportDatabaseError) {
      guard let claim = try pending.claim(file) else { continue }
      outcome = process(claim, conversion, pending)
    } catch {
      outcome = .failed(error.description)
    }
    if isForeign { foreignCount += 1 }
    processed.append(
      ProcessedDump(
        reportID: file.name.reportID, fileName: file.name.description, outcome: outcome))
    // A program that lives for a second prunes too, and many dumps at once do not pile up.
    if processed.count.isMultiple(of: 20) { prune(database, pruning) }
  }
  if !processed.isEmpty { prune(database, pruning) }
  pending.removeOrphans(among: files)
  return processed
}

/// What cannot be pruned now is pruned the next time.
private func prune(_ database: CrashReportDatabase, _ condition: PruneCondition) {
  _ = try? database.prune(condition)
}

func openPendingFolder(
  of database: CrashReportDatabase, identifier: String?
) throws(CrashConverterError) -> PendingFolder {
  do throws(CrashReportDatabaseError) {
    return try PendingFolder(
      database: try database.open(),
      identifier: identifier.map(PendingDumpName.identifier(reducing:)))
  } catch {
    throw CrashConverterError(.pendingFolderUnusable, error)
  }
}

func process(
  _ claim: DumpClaim, _ conversion: borrowing DumpConversion,
  _ pending: borrowing PendingFolder
) -> ProcessedDump.Outcome {
  do throws(DumpConversion.Failure) {
    guard !claim.isSetAside else {
      throw DumpConversion.Failure(
        reason: "not read again: \(claim.attempt &- 1) attempts before, the last of which ended its"
          + " converter", isOfDump: true)
    }
    if let run = claim.run {
      try conversion.convert(run, claim.name)
      try? pending.removeAll(of: claim.name, dump: claim.name)
      return .ended(CrashReport.End(run.end)?.text ?? "")
    }
    let damage = try conversion.convert(claim, in: pending.folder)
    // What cannot be removed is found again, and removed then: its report is there.
    try? pending.removeAll(of: claim.name, dump: claim.name)
    return damage.map { .torn($0.description) } ?? .complete
  } catch {
    return keep(claim, after: error, pending)
  }
}

private func keep(
  _ claim: DumpClaim, after failure: DumpConversion.Failure,
  _ pending: borrowing PendingFolder
) -> ProcessedDump.Outcome {
  var reason = failure.reason
  if failure.isOfDump, claim.attempt >= PendingFolder.maximumAttempts {
    do throws(CrashReportDatabaseError) {
      _ = try pending.quarantine(claim, reason: reason)
      return .quarantined(reason)
    } catch {
      reason += "; and it could not be moved to quarantine: \(error)"
    }
  }
  do throws(CrashReportDatabaseError) {
    try pending.giveBack(claim, countsAttempt: failure.isOfDump)
  } catch {
    // It stays claimed by this process, and is found again once that has ended.
    reason += "; and it could not be given back: \(error)"
  }
  return .failed(reason)
}
