internal import Glibc

/// Keeps the files of earlier runs from filling the disk where no converter ever runs: a program that crashes each second writes a dump each second.
///
/// Ordinary code, at every start, before the handler's own files are made. Costs a look at each file.
/// Files that cannot be looked at or removed stay.
package struct PendingDumpBound {
  /// Bytes of finished dumps that stay, of all programs: the newest.
  static let maximumSize: Int64 = 128 << 20
  /// Empty locked files of this program that stay, the newest: they tell how its runs ended.
  ///
  /// Each holds the preallocated blocks that it was made with.
  static let maximumLeftovers = 64

  private let directoryDescriptor: Int32
  private let identifier: String

  private struct File {
    let name: PendingDumpName
    let status: stat

    /// Newest first.
    static func isBefore(_ left: File, _ right: File) -> Bool {
      let (leftTime, rightTime) = (left.status.st_mtim, right.status.st_mtim)
      return (leftTime.tv_sec, leftTime.tv_nsec) > (rightTime.tv_sec, rightTime.tv_nsec)
    }
  }

  /// - Parameters:
  ///   - directoryDescriptor: the pending directory.
  ///   - identifier: this program's.
  package init(directoryDescriptor: Int32, identifier: String) {
    self.directoryDescriptor = directoryDescriptor
    self.identifier = identifier
  }

  package func apply() {
    var finished: [File] = []
    var leftovers: [File] = []
    for name in names() {
      guard let name = PendingDumpName(fileName: name), let status = status(of: name) else {
        continue
      }
      let file = File(name: name, status: status)
      if name.role == .finished { finished.append(file) }
      if name.role == .locked, name.identifier == identifier, status.st_size == 0 {
        leftovers.append(file)
      }
    }
    boundSize(of: finished.sorted(by: File.isBefore))
    for file in leftovers.sorted(by: File.isBefore).dropFirst(Self.maximumLeftovers)
    where isOwnerDead(file.name) {
      remove(file.name)
    }
  }

  private func boundSize(of newestFirst: [File]) {
    var total: Int64 = 0
    for (index, file) in newestFirst.enumerated() {
      total = total.addingReportingOverflow(max(0, Int64(file.status.st_size))).partialValue
      if total > Self.maximumSize, index > 0 {
        remove(file.name)
      } else if Int64(file.status.st_blocks) &* 512 > Int64(file.status.st_size) &+ 64 << 10 {
        releaseBlocks(of: file)
      }
    }
  }

  /// Gives back the blocks that were preallocated and not needed.
  private func releaseBlocks(of file: File) {
    let descriptor = unsafe openat(
      directoryDescriptor, file.name.description, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    _ = ftruncate(descriptor, file.status.st_size)
    close(descriptor)
  }

  /// True only where the process that the run record names is seen to be gone.
  private func isOwnerDead(_ name: PendingDumpName) -> Bool {
    let path = "/proc/self/fd/\(directoryDescriptor)/\(name.with(role: .runRecord))"
    let host = HostIdentity.current()
    guard
      let record = SystemFile.bytes(path, limit: RunRecord.maximumSize)
        .flatMap(RunRecord.init(bytes:)),
      OwnerEvidence.isSamePlace(record, host)
    else { return false }
    let process = ProcessProbe.look(at: record.processID)
    return OwnerEvidence.verdict(of: process, record: record, host: host)?.isDead ?? false
  }

  /// The dump first: what is left without it is found and removed by the next conversion.
  private func remove(_ name: PendingDumpName) {
    for role in [name.role, .fifo, .runRecord] {
      _ = unsafe unlinkat(directoryDescriptor, name.with(role: role).description, 0)
    }
  }

  private func status(of name: PendingDumpName) -> stat? {
    var status = stat()
    guard
      unsafe fstatat(directoryDescriptor, name.description, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return status
  }

  private func names() -> [String] {
    let copy = unsafe openat(directoryDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return [] }
    guard let stream = unsafe fdopendir(copy) else {
      close(copy)
      return []
    }
    defer { unsafe closedir(stream) }
    let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 19
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let start = unsafe UnsafeRawPointer(entry) + nameOffset
      names.append(unsafe String(cString: start.assumingMemoryBound(to: CChar.self)))
    }
    return names
  }
}
