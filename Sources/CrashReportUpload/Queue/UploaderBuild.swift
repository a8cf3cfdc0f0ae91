internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// The program and the libcurl of an uploader.
///
/// If the uploader of a build has crashed twice without an upload in between, it sends nothing for a day. A conversion
/// marks reports of such crashes, and an upload by the same build removes the marks.
struct UploaderBuild: Equatable {
  /// The build ID of the program; if it has none, the bytes of its path.
  let program: [UInt8]
  /// The build ID of libcurl; empty if it has none, or was not loaded.
  let library: [UInt8]

  init(program: [UInt8], library: [UInt8]) { (self.program, self.library) = (program, library) }

  /// The build that runs in this process.
  static func current(library: [UInt8]) -> UploaderBuild {
    let path = ProgramFile.path ?? ""
    let id = (try? ELFFile(path: path))?.buildID ?? []
    return UploaderBuild(program: id.isEmpty ? Array(path.utf8) : id, library: library)
  }

  /// The build that crashed; nil if the report cannot be read.
  private init?(of report: StoredReport, in database: CrashReportDatabase) {
    guard
      let bytes = try? database.openReport(report).dumpBytes(
        limit: ReportContents.largestRewritten),
      let snapshot = try? MinidumpReader.snapshot(of: bytes)
    else { return nil }
    let main = snapshot.mainModuleAddress(in: snapshot.modules)
    let id = snapshot.modules.first { $0.address == main }?.buildID ?? []
    program = id.isEmpty ? Array((snapshot.process.executablePath ?? "").utf8) : id
    library = snapshot.modules.first { $0.name.hasPrefix("libcurl") }?.buildID ?? []
  }

  /// The number of crashes after which the uploader of a build pauses, and the length of the pause in seconds.
  private static let (mostCrashes, pause): (Int, Int64) = (2, 24 * 3600)

  /// The reports of crashes in the uploader of this build since its last upload.
  func crashes(
    among reports: [StoredReport], in database: CrashReportDatabase
  ) -> [StoredReport] {
    reports.filter { report in
      guard report.upload.isUploaderCrash,
        let build = UploaderBuild(of: report, in: database), build.program == program
      else { return false }
      // The process may have crashed before libcurl was loaded.
      return build.library.isEmpty || build.library == library
    }
  }

  /// Until when the uploader pauses, in seconds since 1970; nil if it does not pause.
  ///
  /// - Parameters:
  ///   - crashes: the reports of its crashes.
  ///   - now: the current time. A report with a later time has a wrong time, and does not prolong a pause.
  static func pauseEnd(after crashes: [StoredReport], now: Int64) -> Int64? {
    let last = crashes.map(\.creationTime.seconds).filter { $0 <= now }.max()
    guard crashes.count >= mostCrashes, let last else { return nil }
    let end = last.clampedAdding(pause)
    return end > now ? end : nil
  }
}
