internal import CrashAnalysis
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// Converts one dump to a report in the database.
struct DumpConversion: ~Copyable {
  /// The reason why an attempt to convert a dump failed.
  struct Failure: Error {
    let reason: String
    /// True if the failure counts toward the dump's maximum number of attempts; false if the machine caused the
    /// failure.
    ///
    /// The converter may attempt a conversion any number of times if the failures do not count. A failure to read the
    /// file of a module or an attachment counts, even if the machine caused the failure.
    let isOfDump: Bool
    /// True if the database refused the report because it already contains a file with the report's name.
    var isReportThere = false
  }

  /// The maximum size in bytes of a dump that is converted.
  static let maximumSize = 512 << 20

  let database: CrashReportDatabase
  /// The caller's annotations for every dump; they replace the dump's own annotations of the same name.
  let annotations: [String: String]
  /// The time limit for finding the function names and lines that reports store; nil to store none.
  let symbols: SymbolBudget?
  let userStreams: UserStreams
  /// The privacy level of the reports; a dump may require a stricter level.
  var privacy = ReportPrivacy.full
  /// Tasks that were found in the memory of the process after its dump; nil if no search was made.
  var tasks: AllTasks?
  /// The file locks for which the process's threads waited after its dump.
  var fileLocks: [FileLockWait] = []
  /// The context switches of the process's threads before the dump, which show the threads that ran during the dump;
  /// nil if they were not counted.
  var contextSwitches: ContextSwitches?

  /// The result of one dump's conversion.
  struct Result {
    /// The report's ID, which is the dump's ID unless another report has that ID.
    let reportID: ReportID
    /// Where and why a truncated dump ends; nil for a complete dump.
    let damage: IntermediateDumpDocument.Damage?
    /// The summary of the crash; nil if the report existed already.
    let summary: ProcessedDump.Summary?
    /// False if the dump was changed after it was read, for example because the handler wrote more bytes.
    let isWhole: Bool
  }

  /// Makes a report from a dump, and synchronizes it to disk.
  func convert(
    _ claim: DumpClaim, in pending: borrowing PendingDirectory
  ) throws(Failure) -> Result {
    let dump = try read(claim, in: pending.directory)
    let document = dump.document
    var captured = ProcessSnapshot(reading: document)
    if document.damage != nil, let end = try end(of: claim, in: pending),
      end.kind == .outOfMemory
    {
      captured.capture.noteMemoryKill(isCertain: end.certainty == .certain)
    }
    captured.dumpDigest = dump.identity.digest
    // Only this conversion may decide the verdict, whatever the dump contains.
    captured.storedVerdict = nil
    let isHang = captured.request?.kind == .hang
    captured.request?.end = isHang ? try end(ofHang: claim.name.reportID, in: pending) : nil
    try dump.checkReads()
    var found = try target(of: claim.name.reportID, dump.identity)
    var summary: ProcessedDump.Summary?
    if !found.isReported {
      captured.addedAnnotations = annotations
      if captured.allTasks == nil, captured.process.privacy == nil { captured.allTasks = tasks }
      if captured.fileLocks.isEmpty, captured.process.privacy == nil {
        captured.fileLocks = fileLocks
      }
      // Secrets are removed first, because names, analysis and index must match the report. For a report without
      // memory, this step also walks the stacks. A walk is limited by a number of steps and not by time, so the result
      // does not depend on the load of the machine.
      let refusals = SystemRefusals.now
      var snapshot = captured.keeping(
        privacy, symbols: claim.isHarmless ? SymbolSource() : nil)
      // If the converter ended during the previous attempt, names are not searched for, because the report is more
      // important than the names in it.
      if let symbols, claim.isHarmless { snapshot.storedSymbols = symbols.gather(for: snapshot) }
      if let contextSwitches, claim.isHarmless {
        snapshot.removeDeadlocks(
          ofThreadsThatRanSince: contextSwitches, symbols: symbols?.source ?? SymbolSource())
      }
      let verdict = claim.isHarmless ? analyze(&snapshot, symbols?.source) : nil
      // If a file of a module could not be read for a temporary reason, this attempt fails unless it is the last one,
      // so that the next attempt can find the names. The failure counts toward the dump's attempts, because the cause
      // can also be a damaged symbol file.
      if claim.isHarmless, claim.attempt < PendingDirectory.maximumAttempts,
        let errno = refusals.refusalSince
      {
        let reason = CrashReportDatabaseError(
          systemCall: "reading the files of the modules", errno: errno)
        throw Failure(reason: reason.description, isOfDump: true)
      }
      if claim.isHarmless, snapshot.process.privacy == nil { userStreams.add(to: &snapshot) }
      while !found.isReported {
        snapshot.reportID = found.id
        try copyAttachments(
          of: &snapshot, to: found.id, from: AttachmentReader(snapshot, dump.status),
          isLastAttempt: claim.attempt >= PendingDirectory.maximumAttempts)
        do throws(Failure) {
          let status = try store(&snapshot, of: dump, as: found.id)
          summary = summarize(snapshot, ReportIndex.Key(found.id, status: status), verdict)
          break
        } catch  where error.isReportThere {
          // Another converter treated this converter as dead, and finished the report first.
          let before = found.id
          found = try target(of: claim.name.reportID, dump.identity)
          // If `target` returns the same ID without a report, the report's name belongs to a file that is not a report,
          // so the next try would fail too.
          if found.id == before, !found.isReported { throw error }
        }
      }
    }
    do throws(CrashReportDatabaseError) {
      let now = try pending.directory.status(of: claim.name.description)
      return Result(
        reportID: found.id, damage: document.damage, summary: summary,
        isWhole: now.map(dump.status.isUnchanged(since:)) ?? true)
    } catch {
      // The report exists already; the next attempt finds it and removes the dump.
      throw Failure(error)
    }
  }

  /// How the run that wrote the dump ended; nil if this is not known.
  private func end(
    of claim: DumpClaim, in pending: borrowing PendingDirectory
  ) throws(Failure) -> RunEnd? {
    do throws(CrashReportDatabaseError) {
      return try pending.endedRun(claim.name)?.end
    } catch {
      throw Failure(error)
    }
  }

  private func end(
    ofHang report: ReportID, in pending: borrowing PendingDirectory
  ) throws(Failure) -> RunEnd? {
    do throws(CrashReportDatabaseError) {
      return try pending.end(ofHang: report)
    } catch {
      throw Failure(error)
    }
  }

  /// True if the report of a hang tells how the run ended; nil if the dump of this hang is not converted yet.
  func isToldByHang(
    _ run: EndedRun, in pending: borrowing PendingDirectory
  ) throws(Failure) -> Bool? {
    guard let hang = run.hangReport else { return false }
    do throws(CrashReportDatabaseError) {
      return try pending.sizesOfDumps(hang).isEmpty ? database.synchronize(hang) : nil
    } catch {
      throw Failure(error)
    }
  }

  /// True if the database already has the report of a dump; called for a dump that must not be parsed again.
  ///
  /// The database already has such a report if an earlier converter died after storing the report but before removing
  /// the dump. Only a digest of the dump's bytes is computed, piece by piece; the bytes are not parsed.
  func isReported(
    _ claim: DumpClaim, in directory: borrowing Directory
  ) throws(Failure) -> Bool {
    do throws(CrashReportDatabaseError) {
      let file = try directory.open(claim.name.description)
      let bytes = try file.dumpBytes(limit: Self.maximumSize)
      let identity = DumpIdentity(of: bytes)
      try bytes.checkReads(of: file.path)
      return try ReportedDump.look(
        at: claim.name.reportID, in: database, identity: identity) == .sameDump
    } catch {
      // A dump that is too large or not a regular file has no report.
      guard error.code == .fileSystemError else { return false }
      throw Failure(error)
    }
  }

  /// Finds the ID for a dump's report: if this dump already has a report, the ID of that report; otherwise, an ID that
  /// no report has.
  private func target(
    of id: ReportID, _ identity: DumpIdentity
  ) throws(Failure) -> (id: ReportID, isReported: Bool) {
    var id = id
    do throws(CrashReportDatabaseError) {
      for _ in 0..<16 {
        switch try ReportedDump.look(at: id, in: database, identity: identity) {
        case .none: return (id, false)
        case .sameDump: return (id, true)
        case .other: id = id.other(for: identity.byteDigest)
        }
      }
    } catch {
      throw Failure(error)
    }
    throw Failure(reason: "16 other reports have the IDs that it could have", isOfDump: true)
  }

  /// Makes a report on a run that left no dump, and synchronizes it to disk.
  ///
  /// The report is uploaded only on request.
  ///
  /// - Returns: nil if the database already has a report with this ID that was made from a dump.
  func convert(
    _ run: EndedRun, _ name: PendingDumpName
  ) throws(Failure) -> ProcessedDump.Summary? {
    var snapshot = run.snapshot(identifier: name.identifier)
    if let isCrash = try isReportOfCrash(name.reportID) {
      return isCrash ? nil : summary(of: snapshot)
    }
    snapshot.reportID = name.reportID
    snapshot.addedAnnotations = annotations
    snapshot = snapshot.keeping(privacy, symbols: nil)
    let verdict = analyze(&snapshot, nil)
    do throws(Failure) {
      let status = try store(&snapshot, of: nil, as: name.reportID)
      return summarize(snapshot, ReportIndex.Key(name.reportID, status: status), verdict)
    } catch  where error.isReportThere {
      guard let isCrash = try isReportOfCrash(name.reportID) else { throw error }
      return isCrash ? nil : summary(of: snapshot)
    }
  }

  /// Synchronizes a report to disk, and returns true if the report was made from a dump; nil if the database has no
  /// report with this ID.
  private func isReportOfCrash(_ reportID: ReportID) throws(Failure) -> Bool? {
    do throws(CrashReportDatabaseError) {
      guard try database.synchronize(reportID) else { return nil }
      return try ReportedDump.isCrash(reportID, in: database)
    } catch {
      throw Failure(error)
    }
  }

  /// - Parameter dump: the dump, whose bytes are read until the minidump is written.
  func store(
    _ snapshot: inout ProcessSnapshot, of dump: Dump?, as reportID: ReportID
  ) throws(Failure) -> FileStatus {
    var report: NewReport
    do throws(CrashReportDatabaseError) {
      snapshot.clientID = try database.clientID()
      report = try database.prepareNewReport(reportID)
      report.isUploaderCrash = snapshot.isUploaderCrash
    } catch {
      throw Failure(error)
    }
    do throws(MinidumpError) {
      try MinidumpWriter.write(snapshot, to: report.descriptor)
    } catch {
      // An error number means that a system call failed, for example because the disk is full, so the dump is not the
      // cause.
      try dump?.checkReads()
      throw Failure(reason: "\(error)", isOfDump: error.errno == 0)
    }
    try dump?.checkReads()
    do throws(CrashReportDatabaseError) {
      let status = try report.status()
      if snapshot.end == nil { try report.finish() } else { try report.finishWithoutUpload() }
      return status
    } catch {
      throw Failure(error)
    }
  }

  /// Analyzes a snapshot, and stores the verdict in it if no name was missing.
  ///
  /// Otherwise, readers that have the files of the modules make the verdict, because a signature without names would
  /// keep the report apart from others with the same cause.
  ///
  /// - Parameter source: the symbol files from which the names in the report came; nil if no names were searched for.
  ///   The stack walk uses the unwind tables in these files too, without which it would find fewer frames.
  func analyze(_ snapshot: inout ProcessSnapshot, _ source: SymbolSource?) -> Verdict {
    let verdict =
      source.map { Verdict(of: snapshot, symbols: $0) } ?? Verdict(of: snapshot)
    // A report about a run that left no dump has no stack, so no name is missing.
    let isNamed = snapshot.end != nil || source.map { !$0.isTimeOver } ?? false
    snapshot.storedVerdict = isNamed ? verdict.stored : nil
    return verdict
  }

  /// Summarizes a stored report and, if it was analyzed, adds it to the index.
  func summarize(
    _ snapshot: ProcessSnapshot, _ key: ReportIndex.Key, _ verdict: Verdict?
  ) -> ProcessedDump.Summary {
    let facts = ReportFacts(of: snapshot, verdict, isNamed: snapshot.storedVerdict != nil)
    if verdict != nil, let directory = try? database.open() {
      ReportIndex.append([(key, facts)], in: directory)
    }
    return ProcessedDump.Summary(facts)
  }

  /// The summary of a run that left no dump, if the run's report already existed.
  private func summary(of snapshot: ProcessSnapshot) -> ProcessedDump.Summary {
    ProcessedDump.Summary(ReportFacts(of: snapshot, Verdict(of: snapshot), isNamed: true))
  }

  /// A dump that was read: its contents, its identity and the status of its file.
  struct Dump {
    let document: IntermediateDumpDocument
    let identity: DumpIdentity
    let status: FileStatus
    let bytes: DumpBytes
    let path: String

    func checkReads() throws(Failure) { try DumpConversion.checkReads(of: bytes, path) }
  }

  private static func checkReads(of bytes: DumpBytes, _ path: String) throws(Failure) {
    do throws(CrashReportDatabaseError) {
      try bytes.checkReads(of: path)
    } catch {
      throw Failure(error)
    }
  }

  private func read(
    _ claim: DumpClaim, in directory: borrowing Directory
  ) throws(Failure) -> Dump {
    let bytes: DumpBytes
    let status: FileStatus
    let path: String
    do throws(CrashReportDatabaseError) {
      let file = try directory.open(claim.name.description)
      path = file.path
      status = try file.status()
      bytes = try file.dumpBytes(limit: Self.maximumSize)
    } catch {
      throw Failure(reason: error.description, isOfDump: error.code != .fileSystemError)
    }
    let document: IntermediateDumpDocument
    do throws(IntermediateDumpError) {
      document = try IntermediateDumpDocument(parsing: bytes)
    } catch {
      try Self.checkReads(of: bytes, path)
      throw Failure(reason: error.description, isOfDump: true)
    }
    return Dump(
      document: document, identity: DumpIdentity(of: bytes), status: status, bytes: bytes,
      path: path)
  }
}

extension DumpConversion.Failure {
  /// Makes a failure from a database error, which the dump did not cause.
  init(_ error: CrashReportDatabaseError) {
    self.init(
      reason: error.description, isOfDump: false, isReportThere: error.code == .reportExists)
  }
}
