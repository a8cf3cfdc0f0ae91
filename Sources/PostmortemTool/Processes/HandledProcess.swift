internal import CrashConverter
internal import CrashHandler
internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// A running process and its crash handler, as `/proc` shows them.
struct HandledProcess {
  /// The file for the next dump, which a process with a handler holds open, and whose name marks it as locked.
  struct LockedFile {
    let path: String
    let name: PendingDumpName
    let isDeleted: Bool

    init?(link: String) {
      let mark = " (deleted)"
      isDeleted = link.hasSuffix(mark)
      path = isDeleted ? String(link.dropLast(mark.count)) : link
      guard let name = PendingDumpName(fileName: path.lastComponent), name.role == .locked,
        path.parentPath.lastComponent == PendingDumpName.directory
      else { return nil }
      self.name = name
    }
  }

  let processID: Int32
  /// The target of each descriptor's link in `/proc`.
  let links: [String: String]
  let signals: ThreadSignals
  /// The locked file; nil for a process without a handler, and for a forked process, which closes its parent's file.
  let file: LockedFile?
  /// The path by which this tool reaches the directory of pending dumps, and whether the examined process has that
  /// directory open.
  let directory: String?
  let holdsDirectory: Bool
  /// The run record; nil if it cannot be read.
  let record: RunRecord?
  /// Whether a converter would treat the owner of the locked file as dead; nil if there is no locked file, or if its
  /// directory cannot be opened.
  let verdict: OwnerVerdict?
  /// The directory in `/proc` from which the process's state is read.
  private let place: String

  /// Examines a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or if this user may not examine it.
  init(_ processID: Int32) throws(ToolError) {
    self.processID = processID
    place = ProcessProbe.directory(of: processID)
    links = try Self.links(of: processID, place)
    guard let signals = ThreadSignals(process: "\(processID)") else {
      throw ToolError("process \(processID) has ended")
    }
    self.signals = signals
    let files = links.values.compactMap(LockedFile.init(link:))
    file = files.first { !$0.isDeleted } ?? files.first
    guard let file else {
      (directory, holdsDirectory, record, verdict) = (nil, false, nil, nil)
      return
    }
    // This tool opens the directory through the process's own descriptor, because that also works if the process is in
    // another mount namespace.
    let held = links.first { $0.value == file.path.parentPath }
    let path = held.map { [place] in "\(place)/fd/\($0.key)" } ?? file.path.parentPath
    (directory, holdsDirectory) = (path, held != nil)
    record = Self.record(at: path + "/" + file.name.with(role: .runRecord).description)
    verdict = Self.verdict(on: file.name, record, in: path)
  }

  /// The IDs of the reports of hangs that last, whose dumps the process holds open.
  var hangs: [ReportID] {
    guard isOwner else { return [] }
    return links.values.compactMap { PendingDumpName(fileName: $0.lastComponent) }
      .filter { $0.role == .hang }.map(\.reportID).sorted()
  }

  /// The path by which this tool reaches the database; nil if the examined process has no handler.
  var database: String? {
    guard let file, let directory else { return nil }
    let path = file.path.parentPath.parentPath
    // If `isOther` is true, the process is in another mount namespace, such as that of a container, and the path must
    // start at the process's root directory.
    let isOther = InputFile.identity(of: file.path.parentPath) != InputFile.identity(of: directory)
    return isOther ? "\(place)/root" + path : path
  }

  /// The name of the process.
  ///
  /// The kernel names a process that was started by running the dynamic linker after the dynamic linker, so such a
  /// process gets the name of its program.
  var name: String {
    guard Self.isDynamicLinker(signals.name) else { return signals.name }
    return record?.course?.executablePath?.lastComponent ?? file?.name.identifier ?? signals.name
  }

  /// True for the file name of glibc's dynamic linker, such as "ld-linux-x86-64.so.2" or, before glibc 2.34,
  /// "ld-2.31.so".
  static func isDynamicLinker(_ name: String) -> Bool {
    name.hasPrefix("ld-linux") || name.hasPrefix("ld-2.")
  }

  /// False for a process that has inherited the locked file of another process, for example through clone(2), and if
  /// the run record cannot be read.
  var isOwner: Bool {
    guard let record else { return false }
    let namespace = SystemFile.target("\(place)/ns/pid")
    return record.processID == UInt32(bitPattern: signals.innermostID)
      && (namespace == nil || record.processNamespace == nil
        || namespace == record.processNamespace.map { "pid:[\($0)]" })
  }

  /// True if the process still has its locked file open; false after an exec, which closes this file.
  var holdsFile: Bool {
    guard let file else { return false }
    return links.contains { key, link in
      link.hasPrefix(file.path) && SystemFile.target("\(place)/fd/\(key)") == link
    }
  }

  /// Whether a converter would treat the owner of a locked file in a directory as dead; nil if the directory cannot be
  /// opened.
  static func verdict(
    on name: PendingDumpName, _ record: RunRecord?, in path: String
  ) -> OwnerVerdict? {
    guard let directory = try? Directory(path: path) else { return nil }
    let times = [name, name.with(role: .runRecord)].compactMap {
      (try? directory.status(of: $0.description))??.modificationTime
    }
    return RunRecord.evidence(
      record, of: name, in: directory.descriptor, host: .current(),
      isLocalFileSystem: LocalFileSystem.contains(descriptor: directory.descriptor),
      age: times.max().map { SystemClock.now.subtractingReportingOverflow($0).partialValue } ?? 0,
      isOwnIdentifier: true
    ).verdict
  }

  /// Reads the link targets in `/proc` of all descriptors of a process.
  private static func links(
    of processID: Int32, _ place: String
  ) throws(ToolError) -> [String: String] {
    let directory = "\(place)/fd"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw ToolError("process \(processID) \(refusal(of: processID))")
    }
    var links: [String: String] = [:]
    for name in names { links[name] = SystemFile.target("\(directory)/\(name)") }
    return links
  }

  /// The reason why a process cannot be examined, and the user who can examine it.
  ///
  /// Source: ptrace(2), "Ptrace access mode checking".
  private static func refusal(of processID: Int32) -> String {
    guard InputFile.isDirectory("/proc/\(processID)") else { return "does not exist" }
    let refused = "cannot be examined"
    if geteuid() == 0 { return "\(refused): root needs CAP_SYS_PTRACE here" }
    let users =
      SystemFile.text("/proc/\(processID)/status")?.split(separator: "\n")
      .first { $0.hasPrefix("Uid:") }?.split(separator: "\t").dropFirst() ?? []
    guard !users.isEmpty, users.allSatisfy({ $0 == "\(geteuid())" }) else {
      return "\(refused): run as its user or as root"
    }
    return
      "\(refused), although this user runs it: it is not dumpable (it has changed its user, is "
      + "set-user-ID, has file capabilities, or set PR_SET_DUMPABLE to 0), or has capabilities that "
      + "this process lacks; run as root"
  }

  /// The run record at a path; nil if it cannot be read.
  static func record(at path: String) -> RunRecord? {
    FileManager.default.contents(atPath: path).flatMap { RunRecord(bytes: [UInt8]($0)) }
  }
}
