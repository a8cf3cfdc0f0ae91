internal import CrashConverter
internal import CrashHandler
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Finds the processes in `/proc` that have a crash handler, or that have a given name.
enum HandlerSearch {
  /// A process with a crash handler, as `doctor` lists it.
  struct Found: Codable {
    let pid: Int32
    let name: String
    let database: String
    /// The IDs of the reports of hangs that last.
    let hangs: [String]

    var text: String {
      "\(pid)  \(name.escapedForMessage)  the crash handler is in place: \(database.escapedForMessage)"
        + hangs.map {
          "; it hangs now: postmortem show\(database.asDatabaseOperand) \($0.prefix(8))"
        }
        .joined()
    }
  }

  /// The processes that have a handler, because they have their own locked file open.
  ///
  /// - Parameter database: the path of the database to which the processes must belong; nil for any database.
  static func handled(in database: String?) -> [Found] {
    let wanted = database.map(InputFile.identity(of:))
    return processIDs.compactMap { processID in
      guard let process = try? HandledProcess(processID), process.isOwner,
        let path = process.database,
        wanted.map({ $0 == InputFile.identity(of: path) }) ?? true
      else { return nil }
      return Found(
        pid: processID, name: process.name, database: path,
        hangs: process.hangs.map(\.description))
    }
  }

  /// The processes whose executable or `comm` has the given name; if some of them have a handler, only those.
  static func processes(named name: String) -> [Int32] {
    let named = processIDs.filter { processID in
      if processID == getpid() { return false }
      let executable = SystemFile.target("/proc/\(processID)/exe")?.lastComponent
      if executable == name || ThreadSignals(process: "\(processID)")?.name == name { return true }
      return executable.map(HandledProcess.isDynamicLinker) == true
        && (try? HandledProcess(processID))?.name == name
    }
    let handled = named.filter { (try? HandledProcess($0))?.file != nil }
    return handled.isEmpty ? named : handled
  }

  private static var processIDs: [Int32] {
    InputFile.names(in: "/proc").compactMap { Int32($0) }.sorted()
  }
}
