internal import CrashHandler
internal import Foundation
internal import IntermediateDump

/// What can be seen from outside of the crash handler of a running process.
struct ProcessExamination {
  /// The locked file that a process holds open.
  private struct LockedFile {
    let path: String
    let name: PendingDumpName
    let isDeleted: Bool

    init?(link: String) {
      let mark = " (deleted)"
      isDeleted = link.hasSuffix(mark)
      path = isDeleted ? String(link.dropLast(mark.count)) : link
      guard let name = PendingDumpName(fileName: path.lastComponent), name.role == .locked,
        path.parent.lastComponent == PendingDumpName.folder
      else { return nil }
      self.name = name
    }
  }

  private(set) var lines: [String] = []
  private(set) var isHealthy = true

  /// Looks at a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or it may not be looked at.
  init(_ processID: Int32) throws(ToolError) {
    let links = try Self.links(of: processID)
    guard let process = ThreadSignals(process: "\(processID)") else {
      throw ToolError("process \(processID) has ended")
    }
    let files = links.values.compactMap(LockedFile.init(link:))
    guard let file = files.first(where: { !$0.isDeleted }) ?? files.first else {
      examineWithoutFile(process, holds: Array(links.values))
      return
    }
    if file.isDeleted {
      find("the locked file \(file.path) was removed: a crash has to make a new one")
    }
    let folder = links.first { $0.value == file.path.parent }
    if folder == nil {
      find("the descriptor of \(file.path.parent) was closed")
    }
    // Through the process's own descriptor, which is right in another mount namespace too.
    let place = folder.map { "/proc/\(processID)/fd/\($0.key)" } ?? file.path.parent
    let record = Self.owner(at: place + "/" + file.name.with(role: .runRecord).description)
    let fifo = file.path.parent + "/" + file.name.with(role: .fifo).description
    // A mapping of its run record says that it lives, too.
    if !links.values.contains(fifo), record?.isMapped != true {
      find(
        "the FIFO \(fifo) is not held: another container sees this process's end after a day at the "
          + "least")
    }
    examineSignals(of: process, record: record)
    for finding in HandlerStatus.Finding.blocked(ThreadSignals.threads(of: "\(processID)")) {
      find(finding.description)
    }
    if isHealthy {
      lines.append(
        "process \(processID) ('\(process.name)'): the crash handler is in place; the next report is "
          + "\(file.name.reportID) in \(file.path.parent.parent)")
    }
  }

  /// A process that was forked has its parent's handler and descriptor of the folder, but no locked
  /// file until it crashes.
  private mutating func examineWithoutFile(_ process: ThreadSignals, holds paths: [String]) {
    let title = "process \(process.threadID) ('\(process.name)')"
    guard let folder = paths.first(where: { $0.lastComponent == PendingDumpName.folder }) else {
      return find("\(title) holds no locked file: no crash handler lives in it")
    }
    let missing = SignalSet.faults.subtracting(process.caught)
    if !missing.isEmpty { find("\(missing.names) are not caught") }
    for finding in HandlerStatus.Finding.blocked(
      ThreadSignals.threads(of: "\(process.threadID)"))
    { find(finding.description) }
    if isHealthy {
      lines.append(
        "\(title) was forked by a process with a crash handler, and makes its locked file in "
          + "\(folder) when it crashes")
    }
  }

  private mutating func find(_ line: String) {
    lines.append(line)
    isHealthy = false
  }

  /// Compares the process's signals with what its run record says.
  private mutating func examineSignals(
    of process: ThreadSignals, record: RunRecord?
  ) {
    guard let record, let signals = record.signals else {
      return find("there is no run record: which signals should be caught is not known")
    }
    if record.processID != UInt32(bitPattern: process.innermostID) {
      return find(
        "the locked file is process \(record.processID)'s: this process has inherited it")
    }
    let missing = SignalSet(mask: signals.crash).subtracting(process.caught)
    for signal in missing.signals {
      let action = process.ignored.contains(signal) ? "it is ignored" : "it has the default action"
      find("\(SignalSet.name(of: signal)) is not caught any more: \(action)")
    }
    let helpers = [(signals.stop, "stops threads"), (signals.watchdog, "bounds the time")]
    for (signal, purpose) in helpers where signal != 0 && !process.caught.contains(signal) {
      find("signal \(signal), which \(purpose) in a crash, is not caught any more")
    }
  }

  /// What each descriptor of a process refers to.
  private static func links(of processID: Int32) throws(ToolError) -> [String: String] {
    let folder = "/proc/\(processID)/fd"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      let reason =
        InputFile.isFolder("/proc/\(processID)")
        ? "may not be looked at; be its user or root" : "does not exist"
      throw ToolError("process \(processID) \(reason)")
    }
    var links: [String: String] = [:]
    for name in names {
      links[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
    }
    return links
  }

  /// The run record at a path; nil if it cannot be read.
  private static func owner(at path: String) -> RunRecord? {
    FileManager.default.contents(atPath: path).flatMap { RunRecord(bytes: [UInt8]($0)) }
  }
}

extension String {
  /// What lies behind the last slash.
  fileprivate var lastComponent: String {
    String(split(separator: "/", omittingEmptySubsequences: false).last ?? "")
  }

  /// What lies before it.
  fileprivate var parent: String {
    lastIndex(of: "/").map { String(self[..<$0]) } ?? ""
  }
}
