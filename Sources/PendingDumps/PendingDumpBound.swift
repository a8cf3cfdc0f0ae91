internal import Glibc
package import IntermediateDump

/// Keeps dumps from filling the disk if no converter ever runs.
///
/// Without this bound, a program that crashes each second would add a dump to the disk each second.
///
/// Starting the handler applies the bound, before the handler creates its own files, and so does a conversion that finds
/// little room. If the names do not fit in `DirectoryNames.window` and there is room, on average only one start in
/// `interval` lists the directory. Only files of this process's
/// user count and are removed; if root uses another user's database, only files of that user. So no other user can use
/// up the limit, or make root remove a dump. A file that cannot be examined is not counted; a file that cannot be
/// removed is counted, but stays. Signal handlers must not use this type.
package struct PendingDumpBound {
  /// The maximum number of bytes of finished dumps that are kept, counted over all programs, or a share of the file
  /// system if that is less (`VolumeRoom`).
  ///
  /// Dumps of programs that have a report are removed first, then the dumps of programs that have newer ones, the oldest
  /// first. So the dumps of a program that crashes all the time do not displace the only dump of another. The newest
  /// dump is kept even if it alone is larger than the limit.
  static let maximumSize: Int64 = 128 << 20
  /// The number of this program's newest empty locked files that are kept even if their owners are dead.
  ///
  /// A converter needs each such file to find out how a process ended. Each file occupies the disk blocks that were
  /// preallocated when it was created, so the number of these files is limited.
  static let maximumLeftovers = 64

  /// If the directory is large, only one handler start in this many lists it, on average, because listing takes time.
  static let interval: UInt8 = 64

  private let directoryDescriptor: Int32
  private let identifier: String?
  private let host: HostIdentity
  /// The room on the file system, for tests; nil to ask.
  private let givenRoom: VolumeRoom?
  private let owner: DirectoryOwner?
  private var user: UInt32 { owner?.user ?? geteuid() }

  private struct File {
    let name: String
    let status: stat
    let date: Timestamp
    /// The rank of `date`, which is compared before `date` itself: 0 for a possible date, more for a date from a wrong
    /// clock, which counts as newer (`Timestamp.newness` in `IntermediateDump`).
    let newness: Int

    /// The number of bytes that count.
    ///
    /// Holes in a file take no blocks, so the size on disk counts if it is less than the file size. Blocks beyond the
    /// end of a file do not count, because `releaseBlocks` frees them.
    var size: Int64 {
      min(max(0, Int64(status.st_size)), Int64(status.st_blocks) &* 512)
    }

    /// The order for sorting, the newest file first: true if the left file is newer than the right file.
    static func isBefore(_ left: File, _ right: File) -> Bool {
      (left.newness, left.date) > (right.newness, right.date)
    }
  }

  /// - Parameters:
  ///   - directory: the pending directory, which was just opened and has not been listed.
  ///   - identifier: the identifier of this program, with which the names of its dumps begin; nil to keep all locked
  ///     files.
  ///   - host: the host identity of the calling process.
  ///   - room: the room on the file system, for tests; nil to ask for it when it matters.
  package init(
    directory: borrowing Directory, identifier: String?, host: HostIdentity,
    room: VolumeRoom? = nil
  ) {
    directoryDescriptor = directory.descriptor
    self.identifier = identifier
    self.host = host
    givenRoom = room
    owner = directory.owner
  }

  /// True if a start of the handler must list the directory even if it is large.
  ///
  /// A start chooses its report ID at random, so this is true for one start in `interval`.
  package static func isDue(for reportID: ReportID) -> Bool { reportID.bytes[15] % interval == 0 }

  /// Applies the limits.
  ///
  /// - Parameters:
  ///   - wholly: false to skip a large directory, which another start of the handler then lists, while there is room.
  ///   - hasReport: true for the identifier of a program that has a report; it is called only if dumps are removed.
  package func apply(wholly: Bool = true, hasReport: (String) -> Bool = { _ in false }) {
    var names = names(limit: wholly ? .max : DirectoryNames.window)
    if names == nil, !wholly, room()?.isTight == true {
      _ = lseek(directoryDescriptor, 0, SEEK_SET)
      names = self.names(limit: .max)
    }
    guard let names else { return }
    var finished: [File] = []
    var leftovers: [File] = []
    let prefix = identifier.map { $0 + "@" }
    for name in names {
      let isLocked = name.hasSuffix(".locked")
      guard
        isLocked ? prefix.map({ name.utf8.starts(with: $0.utf8) }) ?? false : isFinished(name),
        let status = status(of: name)
      else { continue }
      let file = file(name, status)
      if !isLocked { finished.append(file) }
      if isLocked, status.st_size == 0 { leftovers.append(file) }
    }
    if finished.isEmpty, leftovers.count <= Self.maximumLeftovers { return }
    boundSize(of: finished.sorted(by: File.isBefore), hasReport)
    for file in leftovers.sorted(by: File.isBefore).dropFirst(Self.maximumLeftovers) {
      guard let name = PendingDumpName(fileName: file.name), name.identifier == identifier,
        // The file's size is read again after `isOwnerDead`, because the owner may have written a dump and ended since
        // the size was first read.
        isOwnerDead(name), status(of: file.name)?.st_size == 0
      else { continue }
      remove(name)
    }
  }

  /// Asks for the room on the file system, only if it matters: each start would pay for it.
  private func room() -> VolumeRoom? { givenRoom ?? VolumeRoom(of: directoryDescriptor) }

  /// The names in the directory; nil if they cannot be read, or if there are too many.
  ///
  /// - Parameter limit: the maximum number of bytes of entries.
  private func names(limit: Int) -> [String]? {
    DirectoryNames.rest(of: directoryDescriptor, limit: limit, isShort: true)
  }

  /// Returns a file with the date that is used for sorting.
  ///
  /// The date is the modification time or, if the clock was not set when the file was written, the time of the last
  /// status change.
  private func file(_ name: String, _ status: stat) -> File {
    let now = Timestamp(nanoseconds: SystemClock.now)
    let (written, changed) = (
      Timestamp(seconds: Int64(status.st_mtim.tv_sec))
        .advanced(by: .nanoseconds(status.st_mtim.tv_nsec)),
      Timestamp(seconds: Int64(status.st_ctim.tv_sec))
    )
    let isWritten = written.isPossible(at: now)
    let isChanged = changed.isPossible(at: now)
    if !isWritten, !isChanged { FileDate.renew(name, in: directoryDescriptor) }
    let date = isChanged && !isWritten ? changed : written
    return File(name: name, status: status, date: date, newness: date.newness(at: now))
  }

  /// True if a name ends with the report ID, as the name of a finished dump does.
  private func isFinished(_ name: String) -> Bool {
    guard let separator = name.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
    return name.utf8.distance(from: separator, to: name.utf8.endIndex) == 37
  }

  private func boundSize(of newestFirst: [File], _ hasReport: (String) -> Bool) {
    if newestFirst.isEmpty { return }
    let limit = room()?.limit(Self.maximumSize) ?? Self.maximumSize
    var excess = newestFirst.reduce(Int64(0)) { $0.clampedAdding($1.size) }
      .clampedSubtracting(limit)
    var removed: Set<String> = []
    if excess > 0 {
      for file in inOrderOfRemoval(newestFirst, hasReport) where excess > 0 {
        guard let name = PendingDumpName(fileName: file.name) else { continue }
        remove(name)
        removed.insert(file.name)
        excess = excess.clampedSubtracting(file.size)
      }
    }
    for file in newestFirst where !removed.contains(file.name) {
      if Int64(file.status.st_blocks) &* 512 > Int64(file.status.st_size) &+ 64 << 10 {
        releaseBlocks(of: file)
      }
    }
  }

  /// The finished dumps without the newest one, those first that are missed least.
  private func inOrderOfRemoval(
    _ newestFirst: [File], _ hasReport: (String) -> Bool
  ) -> [File] {
    var reported: [String: Bool] = [:]
    var ranks: [Int: [File]] = [:]
    for (index, file) in newestFirst.enumerated() {
      let program = String(file.name.prefix { $0 != "@" })
      let isNewestOfProgram = reported[program] == nil
      let isReported = reported[program] ?? hasReport(program)
      reported[program] = isReported
      if index > 0 { ranks[isReported ? 0 : isNewestOfProgram ? 2 : 1, default: []].append(file) }
    }
    return (0...2).flatMap { (ranks[$0] ?? []).reversed() }
  }

  /// Releases blocks that were preallocated and not used, and keeps the times of the file, because conversions take the
  /// dump that was written first.
  private func releaseBlocks(of file: File) {
    guard PendingDumpName(fileName: file.name) != nil else { return }
    let descriptor = unsafe openat(
      directoryDescriptor, file.name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    if ftruncate(descriptor, file.status.st_size) == 0 {
      _ = unsafe futimens(descriptor, [file.status.st_atim, file.status.st_mtim])
    }
    close(descriptor)
  }

  /// True only if the running kernel shows that the owner is dead; neither the file's age nor a different boot ID is
  /// enough.
  private func isOwnerDead(_ name: PendingDumpName) -> Bool {
    let path = "/proc/thread-self/fd/\(directoryDescriptor)/\(name.with(role: .runRecord))"
    guard
      let record = SystemFile.bytes(path, limit: RunRecord.maximumSize)
        .flatMap(RunRecord.init(ownerIn:))
    else { return false }
    return RunRecord.evidence(
      record, of: name, in: directoryDescriptor, host: host, isLocalFileSystem: false, age: 0,
      isOwnIdentifier: true
    ).verdict.isDead
  }

  /// Removes a dump, then its FIFO and run record.
  ///
  /// The dump is removed first: if this process ends in between, the next conversion removes the FIFO and the run
  /// record, because they no longer have a dump.
  private func remove(_ name: PendingDumpName) {
    for role in [name.role, .fifo, .runRecord] {
      _ = unsafe unlinkat(directoryDescriptor, name.with(role: role).description, 0)
    }
  }

  private func status(of name: String) -> stat? {
    var status = stat()
    guard
      unsafe fstatat(directoryDescriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG, status.st_uid == user
    else { return nil }
    return status
  }
}
