internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

/// Keeps a dump that could not be converted, for another attempt or for examination.
extension PendingDirectory {
  /// The maximum number of attempts to convert a dump; attempts whose converter crashed on another thread do not count.
  ///
  /// The dump goes to quarantine when the last attempt fails. If the converter ended during the attempt before the last
  /// one, the last attempt does not parse the dump: it removes the dump if the database already has the dump's report,
  /// and otherwise moves the dump to quarantine.
  static let maximumAttempts: UInt32 = 3

  /// True if a claimed file is still empty or no longer exists.
  func isEmpty(_ claim: DumpClaim) throws(CrashReportDatabaseError) -> Bool {
    (try directory.status(of: claim.name.description)?.size ?? 0) == 0
  }

  /// Releases the claim, so that other processes, or this process later, can try again.
  ///
  /// - Parameter countsAttempt: false to leave the attempt uncounted, because the dump did not cause the failure.
  func giveBack(_ claim: DumpClaim, countsAttempt: Bool) throws(CrashReportDatabaseError) {
    let attempts = countsAttempt ? claim.attempt : claim.attempt.clampedSubtracting(1)
    let free = claim.name.with(
      role: .claimed(attempt: attempts, processID: 0, startTime: 0, place: 0))
    // Another dump with the same report ID may already have this name. If so, this dump stays claimed, and is found
    // again after this process has ended.
    guard try directory.status(of: free.description) == nil else { return }
    _ = try directory.rename(
      claim.name.description, to: directory, free.description, replacing: true)
  }

  /// Moves a dump with its owner's run record into the quarantine directory, and writes the reason into a text file
  /// next to it.
  func quarantine(_ claim: DumpClaim, reason: String) throws(CrashReportDatabaseError) {
    let quarantine = try root.subdirectory(PendingDumpName.quarantineDirectory, create: true)
    let name = claim.name.with(role: .finished).description
    let status = try directory.status(of: claim.name.description)
    for number in 1...1000 {
      let target = number == 1 ? name : "\(name).\(number)"
      // If a converter was killed in the middle of the move, the file has two names: `claim.name`, and `target` in the
      // quarantine directory.
      let isMoved = try quarantine.status(of: target).map { $0 == status }
      guard isMoved != false else { continue }
      // The reason is written first, so that every dump in quarantine has a reason.
      let text = "\(reason)\nattempts: \(claim.attempt)\n"
      let reasonName = "\(target).reason"
      // An existing reason without a dump is from a converter that was killed after it wrote the reason and before it
      // moved the dump, so the reason is replaced.
      _ = try quarantine.put(Array(text.utf8), as: reasonName, by: quarantine, replacing: true)
      // Unfinished files of killed converters are removed before the dump moves, because no call looks for them
      // afterward.
      for unfinished in (try? quarantine.names()) ?? []
      where unfinished.hasPrefix("\(reasonName).") && unfinished.hasSuffix(".tmp") {
        try? quarantine.remove(unfinished)
      }
      if isMoved == true {
        try directory.remove(claim.name.description)
      } else {
        let result = try directory.rename(
          claim.name.description, to: quarantine, target, replacing: false)
        // Another dump already has this name, so the reason file now belongs to that dump, and the next number is
        // tried.
        if result == .targetExists { continue }
        guard result == .done else {
          try quarantine.remove(reasonName)
          throw CrashReportDatabaseError(
            .fileSystemError, "\(directory.path)/\(claim.name) was taken away")
        }
      }
      let record = claim.name.with(role: .runRecord).description
      _ = try directory.rename(record, to: quarantine, "\(target).run", replacing: false)
      try directory.remove(claim.name.with(role: .fifo).description)
      try quarantine.synchronize()
      try directory.synchronize()
      return
    }
    throw CrashReportDatabaseError(
      .fileSystemError, "\(quarantine.path) has 1,000 files of the name \(name); remove some")
  }
}
