internal import CoreFile
internal import CrashConverter
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

/// Makes reports from the core files in a directory; the files are kept.
enum CoreReports {
  /// Makes a report from each core file that has no report in the database; skips other files.
  ///
  /// - Parameters:
  ///   - directory: the directory with the core files.
  ///   - database: the path of the database's directory, as `ReportDatabase.place` returns it.
  ///   - takes: returns false if the file at a path is to be skipped.
  ///   - progress: called with the number of examined files and the number of all files.
  /// - Returns: the outcomes, and the number of core files that could not be read. The names of the unreadable files
  ///   are printed on standard error.
  static func make(
    of directory: String, in database: String, _ arguments: Arguments,
    takes: (String) -> Bool = { _ in true }, progress: (_ done: Int, _ count: Int) -> Void
  ) throws -> (processed: [ProcessedDump], failures: Int) {
    try InputFile.requireDirectory(directory)
    let names = InputFile.names(in: directory).sorted()
    var processed: [ProcessedDump] = []
    var failures = 0
    for (index, name) in names.enumerated() {
      defer { progress(index + 1, names.count) }
      let path = "\(directory)/\(name)"
      do {
        guard takes(path), try InputFile.mayBeCore(path) else { continue }
        let bytes = try InputFile.dump(at: path, arguments.coreSource)
        // A compressed file can contain anything, so its contents are checked.
        guard CoreReader.isCore(bytes.slice(0..<min(18, bytes.count)) ?? []) else { continue }
        let file = try CrashFile(bytes, named: path, arguments.coreSource)
        let excerpt = file.snapshot.excerpt
        try file.checkReads()
        processed.append(
          try makeReport(
            of: excerpt, named: name, database: database, privacy: arguments.privacy,
            symbolDirectories: arguments.values(of: "--symbols")))
      } catch let error as ToolError {
        arguments.warn(error.description)
        failures += 1
      }
    }
    return (processed, failures)
  }
}
