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
  private static let maximumModules = 32
  /// The number of seconds before the servers are asked again for a file that none of them had.
  private static let believed: Int64 = 600

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
      timeout: number("DEBUGINFOD_TIMEOUT", or: 90),
      deadline: number("DEBUGINFOD_MAXTIME", or: 600))
  }

  /// Downloads the debug files of the modules that have frames without a known source line in a report.
  ///
  /// - Returns: true if the cache now contains the debug file of at least one of these modules, so that the report may
  ///   show more names and lines.
  func fetch(for report: CrashReport) -> Bool {
    var wanted: [ModuleSnapshot] = []
    for frame in report.threads.flatMap(\.frames) where frame.sourceLocation == nil {
      guard let module = report.snapshot.modules.module(of: frame), module.buildID.count > 1,
        !module.path.hasPrefix("["), !wanted.contains(where: { $0.buildID == module.buildID })
      else { continue }
      wanted.append(module)
    }
    return wanted.prefix(Self.maximumModules).count { fetch($0) } > 0
  }

  /// - Returns: true if the cache now contains the debug file.
  private func fetch(_ module: ModuleSnapshot) -> Bool {
    let folder = "\(directory)/\(module.buildID.hexadecimal)"
    let path = folder + "/debuginfo"
    if let known = try? FileManager.default.attributesOfItem(atPath: path) {
      let age = -((known[.modificationDate] as? Date)?.timeIntervalSinceNow ?? 0)
      if (known[.size] as? Int ?? 0) > 0 { return true }
      // An empty file in the cache means that no server had the debug file; after `believed` seconds, the servers are
      // asked again.
      if age < Double(Self.believed) { return false }
    }
    do {
      try makeDirectories(folder)
      let parent = try Directory(path: folder)
      // An interrupt ends the command during a download.
      let file = try parent.createUnlinked("debuginfo")
      do {
        let isFound = try get(module, to: file.descriptor)
        try parent.link(file)
        _ = try parent.rename(file.name, to: parent, "debuginfo", replacing: true)
        return isFound
      } catch {
        try? parent.remove(file.name)
        throw error
      }
    } catch {
      Terminal.printError("no debug file of \(module.name): \(error)")
      return false
    }
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
  private func get(_ module: ModuleSnapshot, to descriptor: Int32) throws(UploadError) -> Bool {
    var failure: UploadError?
    for url in urls {
      let server = url.hasSuffix("/") ? String(url.dropLast()) : url
      let progress = ProgressLine("debug file of \(module.name) from \(server):")
      defer { progress.clear() }
      do {
        let status = try download.run(
          "\(server)/buildid/\(module.buildID.hexadecimal)/debuginfo", to: descriptor
        ) { progress.show("\($0 >> 20) MiB") }
        if status == 200 { return true }
        guard status == 404 else {
          failure = UploadError(.noAnswer, "\(server) answered \(status)")
          continue
        }
      } catch {
        failure = UploadError(.noAnswer, "\(server): \(error.context)")
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
          throw error
        }
      }
    }
    if let failure { throw failure }
    return false
  }
}
