internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import CrashReportUpload
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Debug files from the debuginfod servers that `DEBUGINFOD_URLS` names.
///
/// The files are cached in the directory that elfutils and gdb use. A cached file is used only if its build ID is the
/// one in the dump. Source: debuginfod(8), debuginfod_find_debuginfo(3), "ENVIRONMENT VARIABLES", "CACHE".
struct DebugFileServers {
  /// The maximum number of files that are requested for one report.
  private static let maximumFiles = 32
  /// The number of seconds before the servers are asked again for a file that none of them had, and before a server that
  /// did not answer is asked again.
  private static let believed: Int64 = 3600

  /// The directory of the cache.
  let directory: String
  private let urls: [String]
  private let download: FileDownload

  /// - Returns: nil if `DEBUGINFOD_URLS` names no HTTP server, if there is no directory for a cache, or if this process
  ///   has more privileges than its user.
  init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    let words = environment["DEBUGINFOD_URLS"]?.split(separator: " ").map(String.init) ?? []
    urls = words.filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    // A program with more privileges than its user must not use the environment, which the user controls.
    guard !urls.isEmpty, geteuid() == getuid(), getegid() == getgid() else { return nil }
    if let path = environment["DEBUGINFOD_CACHE_PATH"], path.hasPrefix("/") {
      directory = path
    } else if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") {
      directory = caches + "/debuginfod_client"
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      directory = home + "/.cache/debuginfod_client"
    } else {
      return nil
    }
    func number(_ name: String, or other: Int) -> Int {
      environment[name].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? other
    }
    download = FileDownload(
      maximumSize: Int64(number("DEBUGINFOD_MAXSIZE", or: 2 << 30)),
      timeout: number("DEBUGINFOD_TIMEOUT", or: 30),
      deadline: number("DEBUGINFOD_MAXTIME", or: 600))
  }

  /// A file that servers have of a build; the raw value is its name in their addresses and in the cache.
  private enum Kind: String {
    case debugFile = "debuginfo"
    /// The module itself, whose unwind tables a debug file lacks.
    case module = "executable"

    var words: String { self == .debugFile ? "debug file" : "file" }
  }

  /// Downloads the debug files of the modules that have frames without a known source line in a report, and the modules
  /// whose unwind information was missing.
  ///
  /// All downloads together take at most `DEBUGINFOD_MAXTIME`. A server that does not answer is asked once, whatever the
  /// number of modules.
  ///
  /// - Returns: true if the cache now contains the debug file of at least one of these modules, so that the report may
  ///   show more names and lines.
  func fetch(for report: CrashReport) -> Bool {
    var wanted: [(kind: Kind, module: ModuleSnapshot)] = []
    func add(_ kind: Kind, of frame: StackFrame) {
      guard let module = report.snapshot.modules.module(of: frame), module.buildID.count > 1,
        !module.path.hasPrefix("["),
        !wanted.contains(where: { $0.kind == kind && $0.module.buildID == module.buildID })
      else { return }
      wanted.append((kind, module))
    }
    for frames in report.threads.map(\.frames) {
      for frame in frames where frame.sourceLocation == nil { add(.debugFile, of: frame) }
      // The callers of these frames were not found by unwind information.
      for (frame, caller) in zip(frames, frames.dropFirst())
      where [.framePointer, .scan].contains(caller.trust) && !isHere(frame, report) {
        add(.module, of: frame)
      }
    }
    let end = ContinuousClock.now + .seconds(download.deadline)
    return wanted.prefix(Self.maximumFiles).count { fetch($0.kind, of: $0.module, before: end) }
      > 0
  }

  /// True if the file of a frame's module, which has the unwind information that there is, is at its path.
  private func isHere(_ frame: StackFrame, _ report: CrashReport) -> Bool {
    guard let module = report.snapshot.modules.module(of: frame) else { return false }
    do {
      return try ELFFile(path: module.path).buildID == module.buildID
    } catch {
      return false
    }
  }

  /// - Returns: true if the cache now contains the file.
  private func fetch(
    _ kind: Kind, of module: ModuleSnapshot, before end: ContinuousClock.Instant
  ) -> Bool {
    let folder = "\(directory)/\(module.buildID.hexadecimal)"
    let path = folder + "/" + kind.rawValue
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_size > 0 { return true }
    // An empty file in the cache means that no server had the file.
    let servers = isRecent(path) ? [] : urls.filter { !isRecent(unreachable($0)) }
    guard !servers.isEmpty, ContinuousClock.now < end else { return false }
    do {
      try makeDirectories(folder)
      let parent = try Directory(path: folder)
      // An interrupt ends the command during a download.
      let file = try parent.createUnlinked(kind.rawValue)
      do {
        let isFound = try get(kind, of: module, from: servers, before: end, to: file.descriptor)
        try parent.link(file)
        _ = try parent.rename(file.name, to: parent, kind.rawValue, replacing: true)
        return isFound
      } catch {
        try? parent.remove(file.name)
        throw error
      }
    } catch {
      Terminal.printError("no \(kind.words) of \(module.name): \(error)")
      return false
    }
  }

  /// True if the file was changed less than `believed` seconds ago.
  private func isRecent(_ path: String) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return false }
    return (0..<Self.believed).contains(
      Int64(time(nil)).clampedSubtracting(Int64(status.st_mtim.tv_sec)))
  }

  /// The empty file in the cache that means that a server did not answer.
  private func unreachable(_ url: String) -> String {
    let name = url.utf8.map { isalnum(Int32($0)) != 0 ? Character(Unicode.Scalar($0)) : "_" }
    return "\(directory)/unreachable-" + String(name.suffix(200))
  }

  private func makeDirectories(_ path: String) throws(ToolError) {
    for index in path.indices.dropFirst() where path[index] == "/" {
      _ = unsafe mkdir(String(path[..<index]), 0o700)
    }
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw ToolError(path: path, ToolError.text(errno))
    }
  }

  /// - Returns: false if no server has the file.
  private func get(
    _ kind: Kind, of module: ModuleSnapshot, from servers: [String],
    before end: ContinuousClock.Instant,
    to descriptor: Int32
  ) throws(UploadError) -> Bool {
    var failure: UploadError?
    for url in servers {
      let server = url.hasSuffix("/") ? String(url.dropLast()) : url
      let progress = ProgressLine("\(kind.words) of \(module.name) from \(server):")
      defer { progress.clear() }
      progress.show("waiting")
      var download = download
      download.deadline = max(1, Int(clamping: (end - .now).components.seconds))
      do {
        let status = try download.run(
          "\(server)/buildid/\(module.buildID.hexadecimal)/\(kind.rawValue)", to: descriptor
        ) { progress.show("\($0 >> 20) MiB") }
        if status == 200 { return true }
        guard status == 404 else {
          failure = UploadError(.noAnswer, "\(server) answered \(status)")
          continue
        }
      } catch {
        failure = UploadError(
          .noAnswer, "\(server): \(error.context); it is asked again in an hour")
        close(unsafe open(unreachable(url), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600))
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
          throw error
        }
      }
    }
    if let failure { throw failure }
    return false
  }
}
