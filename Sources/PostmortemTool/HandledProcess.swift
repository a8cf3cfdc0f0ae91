internal import CrashConverter
internal import CrashHandler
internal import Foundation
internal import PendingDumps

/// A running process and its crash handler, seen from outside, at `/proc`.
struct HandledProcess {
  /// The locked file that a process holds open.
  struct LockedFile {
    let path: String
    let name: PendingDumpName
    let isDeleted: Bool

    init?(link: String) {
      let mark = " (deleted)"
      isDeleted = link.hasSuffix(mark)
      path = isDeleted ? String(link.dropLast(mark.count)) : link
      guard let name = PendingDumpName(fileName: path.lastComponent), name.role == .locked,
        path.parent.lastComponent == PendingDumpName.directory
      else { return nil }
      self.name = name
    }
  }

  let processID: Int32
  /// The target of each descriptor.
  let links: [String: String]
  let signals: ThreadSignals
  /// Nil in a process without a handler, and in a forked one.
  let file: LockedFile?
  /// The directory of pending dumps as this process reaches it, and whether the other one holds it open.
  let directory: String?
  let holdsDirectory: Bool
  /// Nil where it cannot be read.
  let record: RunRecord?

  /// Looks at a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or it may not be looked at.
  init(_ processID: Int32) throws(ToolError) {
    self.processID = processID
    links = try Self.links(of: processID)
    guard let signals = ThreadSignals(process: "\(processID)") else {
      throw ToolError("process \(processID) has ended")
    }
    self.signals = signals
    let files = links.values.compactMap(LockedFile.init(link:))
    file = files.first { !$0.isDeleted } ?? files.first
    guard let file else {
      (directory, holdsDirectory, record) = (nil, false, nil)
      return
    }
    // Through the process's own descriptor, which is right in another mount namespace too.
    let held = links.first { $0.value == file.path.parent }
    let place = held.map { "/proc/\(processID)/fd/\($0.key)" } ?? file.path.parent
    (directory, holdsDirectory) = (place, held != nil)
    record = Self.record(at: place + "/" + file.name.with(role: .runRecord).description)
  }

  /// The database, as this process reaches it; nil without a handler.
  var database: String? {
    guard let file, let directory else { return nil }
    let path = file.path.parent.parent
    // Another mount namespace, such as a container's.
    let isOther = InputFile.identity(of: file.path.parent) != InputFile.identity(of: directory)
    return isOther ? "/proc/\(processID)/root" + path : path
  }

  /// The target of each descriptor of a process.
  private static func links(of processID: Int32) throws(ToolError) -> [String: String] {
    let directory = "/proc/\(processID)/fd"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      let reason =
        InputFile.isDirectory("/proc/\(processID)")
        ? "may not be looked at; be its user or root" : "does not exist"
      throw ToolError("process \(processID) \(reason)")
    }
    var links: [String: String] = [:]
    for name in names {
      links[name] = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "\(directory)/\(name)")
    }
    return links
  }

  /// The run record at a path; nil if it cannot be read.
  private static func record(at path: String) -> RunRecord? {
    FileManager.default.contents(atPath: path).flatMap { RunRecord(bytes: [UInt8]($0)) }
  }
}

extension String {
  /// The part behind the last slash.
  var lastComponent: String {
    String(split(separator: "/", omittingEmptySubsequences: false).last ?? "")
  }

  /// The part before it.
  var parent: String {
    lastIndex(of: "/").map { String(self[..<$0]) } ?? ""
  }
}
