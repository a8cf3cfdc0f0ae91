internal import CrashConverter
internal import Glibc
internal import PendingDumps

/// The directories of core files that `postmortem watch` checks; a file is examined again only if it has changed.
struct WatchedCores {
  /// The number of seconds without a change after which a file counts as completely written.
  ///
  /// The kernel writes a core file directly at its final path, so a new file may be incomplete. While a file is being
  /// written, the kernel refuses a read lease on it, but only the file's owner and root may ask for a lease, so the
  /// time without a change is used instead.
  static let quietTime = 2

  private let directories: [String]
  /// The checked files with the status that they had then; a file with the same status is not examined again.
  private var known: Set<FileState> = []
  /// True if one of the files may have been incomplete at the last check, so that the next check must come soon.
  private(set) var isWaiting = false

  private struct FileState: Hashable {
    let path: String
    let inode: UInt64
    let size: Int64
    let seconds: Int
    let nanoseconds: Int
  }

  /// - Throws: if one of the paths is not a directory.
  init(_ arguments: Arguments) throws(ToolError) {
    directories = arguments.values(of: "--cores")
    for directory in directories { try InputFile.requireDirectory(directory) }
  }

  /// Passes each directory to a function that begins to watch it for new files.
  func watch(with watch: (String) -> Void) {
    for directory in directories { watch(directory) }
  }

  /// Makes reports from the core files that are new or have changed since the last check.
  ///
  /// - Returns: a result for each file that had no report.
  mutating func newReports(in database: String, _ arguments: Arguments) throws -> [ProcessedDump] {
    isWaiting = false
    var processed: [ProcessedDump] = []
    for directory in directories {
      do {
        processed += try CoreReports.make(
          of: directory, in: database, arguments, takes: { takes($0) }, progress: { _, _ in }
        ).processed
      } catch let error as ToolError {
        arguments.warn(error.description)
      }
    }
    return processed.filter { $0.summary != nil || $0.outcome.kind == .failed }
  }

  private mutating func takes(_ path: String) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return false }
    let state = FileState(
      path: path, inode: UInt64(status.st_ino), size: Int64(status.st_size),
      seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    guard !known.contains(state) else { return false }
    let age = time(nil) - status.st_mtim.tv_sec
    // If the date is in the future, the file's age is not known, so only the lease below shows whether another process
    // is still writing the file.
    let isQuiet = age < 0 || age >= Self.quietTime
    guard isQuiet, RecordLease.probe(path, in: AT_FDCWD) != .refused else {
      isWaiting = true
      return false
    }
    known.insert(state)
    return true
  }
}
