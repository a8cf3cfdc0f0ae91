internal import CrashAnalysis
internal import CrashConverter
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// A dump that is not a report yet, and that no converter claims.
///
/// Its process has finished the dump or has died, and then the dump may be truncated; or the process hangs now.
struct WaitingDump {
  let name: PendingDumpName
  let path: String
  /// The size in bytes.
  let size: Int64
  /// The time of the last change to the dump's file, in nanoseconds since 1970.
  let modificationTime: Int64
  /// True for the dump of a hang that lasts; its process updates or removes the dump.
  let isHanging: Bool

  /// The waiting dumps of a database, newest first; reads no dump and changes nothing.
  ///
  /// - Parameters:
  ///   - place: the path of the database's directory, as `ReportDatabase.place` returns it.
  ///   - withHangs: true to include the dumps of hangs that last.
  static func all(in place: String, withHangs: Bool = false) -> [WaitingDump] {
    let directory = place + "/" + PendingDumpName.directory
    return InputFile.names(in: directory).compactMap { file -> WaitingDump? in
      guard let name = PendingDumpName(fileName: file) else { return nil }
      let path = directory + "/" + file
      var status = stat()
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_size > 0
      else { return nil }
      let isHanging = !isLeft(name, in: directory)
      guard !isHanging || (withHangs && name.role == .hang) else { return nil }
      let time = Timestamp(seconds: Int64(status.st_mtim.tv_sec))
        .advanced(by: .nanoseconds(Int64(status.st_mtim.tv_nsec)))
      return WaitingDump(
        name: name, path: path, size: Int64(status.st_size), modificationTime: time.nanoseconds,
        isHanging: isHanging)
    }.sorted { ($0.modificationTime, $0.name.reportID) > ($1.modificationTime, $1.name.reportID) }
  }

  /// True for a dump to which its owner no longer writes, and which no converter claims.
  ///
  /// The dump of a hang counts only if its owner is dead, because a living owner updates or removes the dump.
  private static func isLeft(_ name: PendingDumpName, in directory: String) -> Bool {
    switch name.role {
    case .finished: return true
    case .claimed(_, let processID, _, _, _): return processID == 0
    case .locked, .hang:
      let record = HandledProcess.record(
        at: directory + "/" + name.with(role: .runRecord).description)
      guard case .dead = HandledProcess.verdict(on: name, record, in: directory) else {
        return false
      }
      return true
    case .runRecord, .fifo: return false
    }
  }

  /// The dump's facts that need no stack walk; nil if the dump cannot be read.
  func facts() -> ReportFacts? {
    guard let file = try? CrashFile(at: path) else { return nil }
    return ReportFacts(of: file.snapshot, nil, isNamed: false)
  }

  /// The remark that the dump has no report yet, with the command that makes one.
  func remark(database: String) -> String {
    isHanging
      ? "this hang lasts, and its process may still change or remove the dump: \(path.lastComponent.escapedForMessage)"
      : "this dump is not a report yet; postmortem process\(database.asDatabaseOperand) converts it: "
        + path.lastComponent.escapedForMessage
  }
}
