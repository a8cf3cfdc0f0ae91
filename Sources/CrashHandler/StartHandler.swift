internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The lock for `lockedStarted`: a libc mutex, because the Swift standard library's mutex makes a system call to get
/// the thread's ID.
private nonisolated(unsafe) var startedMutex = unsafe pthread_mutex_t()
private nonisolated(unsafe) var lockedStarted: Started?

private func withStarted<Result, Failure>(
  _ body: (inout Started?) throws(Failure) -> Result
) throws(Failure) -> Result {
  unsafe pthread_mutex_lock(&startedMutex)
  defer { unsafe pthread_mutex_unlock(&startedMutex) }
  return try unsafe body(&lockedStarted)
}

/// The data that later calls of `startHandler` need.
///
/// The data is in a struct and not in a tuple, because the runtime would create metadata for a tuple at launch.
private struct Started {
  let handler: Handler
  let directory: DirectoryIdentity
}

/// Installs the crash handler for this process.
///
/// Call this function once, early, before creating threads that could crash. It creates and preallocates the dump
/// file, allocates everything that handling a crash will need, and installs handlers for the signals in
/// `HandlerOptions.signals`. A signal that is ignored stays ignored. Previously installed handlers run after the
/// dump. The handler creates no thread, unless `heartbeatInterval` is set, and runs no timer until it takes a dump.
/// Never call this function from a signal handler.
///
/// If the environment variable `POSTMORTEM_DISABLE` is set, and is neither empty nor 0, this function does nothing and
/// throws. A program with more permissions than its caller (set-user-ID, set-group-ID, file capabilities) ignores the
/// variable.
///
/// A second call with the same database returns the same handler and changes nothing; a call with another database
/// throws.
///
/// - Parameters:
///   - database: a directory on storage that outlives the process; if it is missing, it is created with mode 0700, or
///     with mode 02770 if `HandlerOptions.sharedGroup` names a group.
///   - identifier: distinguishes this program's dumps from other programs' dumps in the same database. The identifier
///     has 1 to 128 characters of `[A-Za-z0-9._-]`. The default is the executable's base name, in which `-` replaces
///     each byte of other characters.
///   - product: the name of the product, which reports show.
///   - version: the version of the product.
///   - environment: where the program runs, as free text such as "production".
///   - annotations: names and values that dumps of this process contain, if `HandlerOptions.privacy` is `full`.
///   - options: the limits of a dump and the other options of the handler.
/// - Returns: the handler. You need not keep it, because `Handler.current` is the same handler.
/// - Throws: `CrashHandlerError` if, for example, the directory or the identifier cannot be used, the kernel refuses
///   memory or a signal action, the program is built with ThreadSanitizer, or the environment disables the handler. In
///   these cases, the call installs no handler; a server on a read-only disk should log the error and continue. The
///   function also throws if the handler was already started with another database; that handler stays installed.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, sigaction(2).
@discardableResult
public func startHandler(
  database: String,
  identifier: String? = nil,
  product: String? = nil,
  version: String? = nil,
  environment: String? = nil,
  annotations: [String: String] = [:],
  options: HandlerOptions = HandlerOptions()
) throws(CrashHandlerError) -> Handler {
  guard !isDisabled() else {
    throw CrashHandlerError(.disabled, "POSTMORTEM_DISABLE is set in the environment")
  }
  return try withStarted { current throws(CrashHandlerError) in
    pm_begin_start()
    defer { pm_end_start() }
    let executable = SystemFile.programPath
    let identifier = identifier ?? defaultIdentifier(executable)
    guard PendingDumpName.isValidIdentifier(identifier) else {
      throw CrashHandlerError(
        .invalidIdentifier,
        "'\(identifier)' is not 1 to 128 of A-Z a-z 0-9 . _ -; leave it out for the default"
      )
    }
    guard pm_is_thread_sanitized() == 0 else {
      throw CrashHandlerError(
        .notInstalled, "this program is built with ThreadSanitizer, which reports faults itself")
    }
    if let current {
      guard current.directory == DirectoryIdentity(path: database) else {
        throw CrashHandlerError(
          .alreadyStarted,
          "a process has one database, '\(current.handler.database)', not '\(database)' too"
        )
      }
      return current.handler
    }
    if let name = options.sharedGroup {
      guard let group = SystemGroup.number(name) else {
        throw CrashHandlerError(
          .unusableDatabase, "there is no group '\(name)' to share it with; give its number")
      }
      DatabaseDirectory.share(with: group)
    }
    let (proc, standard) = openProc(isWanted: !options.forgoing.contains(.proc))
    defer { standard.giveBack() }
    let statistics = ProcessStatistics.current()
    let present = SignalDispositions.current()
    let signals = CrashSignals(
      options.signals, present: present, hasTerminal: statistics?.own.terminal != 0)
    let host = HostIdentity.current(statistics, processID: present?.processID)
    let facts = LaunchFacts(
      identifier: identifier, product: product, version: version, environment: environment,
      annotations: options.privacy > .full ? [:] : annotations,
      capturesArguments: options.capturesArguments && options.privacy == .full,
      capturesSurroundings: options.capturesSurroundings, privacy: options.privacy,
      executablePath: executable, processID: host.processID, statistics: statistics)
    var record = RunRecord.current(
      signals: OwnerSignals(
        crash: signals.mask, stop: UInt32(bitPattern: signals.stopSignal),
        watchdog: UInt32(bitPattern: signals.watchdogSignal)),
      host: host, statistics: statistics)
    record.takesRequests =
      options.takesDumpRequests && options.forgoing.areFilesMade && signals.stopSignal != 0
      && pm_is_secure() == 0
    record.toldStacks = pm_told_stacks_place()
    if options.reportsUncleanEnds && options.forgoing.areFilesMade {
      record.course = RunCourse.current(
        executablePath: executable, product: product, version: version, environment: environment,
        cgroup: facts.cgroup.memory, statistics: statistics)
    }
    do throws(CrashHandlerError) {
      var files = try PendingDumpFiles.make(
        database: database, identifier: identifier, record: record, host: host)
      pm_set_file_mode(files.fileMode)
      // `statistics` was read before. If this thread was the only one then, it still is, because only this thread can
      // create another one.
      try HandlerInstaller.install(
        files: files, facts: facts, proc: proc, options: options, signals: signals,
        hasStandardError: standard.hasStandardError, isAlone: statistics?.threadCount == 1)
      let handler = Handler(
        database: files.placeInMountPoint ?? database, identifier: identifier,
        reportID: files.reportID)
      files.keep()
      // If the thread cannot be created, the process runs without heartbeats, and `postmortem doctor` shows this.
      if let interval = options.heartbeatInterval, record.course != nil {
        try? startHeartbeats(every: interval)
      }
      for path in options.attachments { addAttachment(path: path) }
      current = Started(handler: handler, directory: DirectoryIdentity(files.databaseStatus))
      return handler
    } catch {
      facts.cgroup.close()
      if proc >= 0 { close(proc) }
      throw error
    }
  }
}

extension Handler {
  /// The handler of this process; nil if `startHandler` has not succeeded.
  public static var current: Handler? { withStarted { $0?.handler } }
}

/// Returns the system's description of an error number.
///
/// Source: strerror(3).
func systemErrorText(_ errno: Int32) -> String { unsafe String(cString: strerror(errno)) }

/// Opens `/proc`, for use in a crash, before the handler opens any other file.
///
/// The kernel uses the lowest free number, so a number above 2 shows that descriptors 0 to 2 are open. If some of them
/// are closed, placeholder descriptors, which are returned, occupy their numbers until the caller calls `giveBack`.
private func openProc(isWanted: Bool) -> (descriptor: Int32, standard: StandardDescriptors) {
  func opened() -> Int32 {
    unsafe isWanted ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1
  }
  let first = opened()
  if first > STDERR_FILENO { return (first, .none) }
  if first >= 0 { close(first) }
  let standard = StandardDescriptors()
  return (opened(), standard)
}

/// True if the environment variable `POSTMORTEM_DISABLE` disables the handler.
private func isDisabled() -> Bool {
  guard pm_is_secure() == 0, let value = unsafe getenv("POSTMORTEM_DISABLE") else { return false }
  let text = unsafe String(cString: value)
  return !text.isEmpty && text != "0"
}

private func defaultIdentifier(_ executable: String?) -> String {
  let path = Array((executable ?? CommandLine.arguments.first ?? "program").utf8)
  let name = path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...]
  return PendingDumpName.identifier(reducing: String(decoding: name, as: UTF8.self))
}

/// The device and inode of a directory, so that different paths to the same directory compare as equal.
private struct DirectoryIdentity: Equatable {
  private let device: UInt64
  private let inode: UInt64

  init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }

  init?(path: String) {
    var status = stat()
    let place = DatabaseDirectory.place(path)
    guard unsafe stat(place, &status) == 0 else { return nil }
    self.init(FileStatus(status))
  }
}

extension StandardDescriptors {
  /// The value for a process that has all three standard descriptors open, and so needs no placeholders.
  fileprivate static var none: StandardDescriptors { StandardDescriptors(taken: 0) }

  private init(taken: UInt32) { self.taken = taken }

  /// False if standard error was closed; in that case, descriptor 2 is a placeholder, which `giveBack` closes.
  fileprivate var hasStandardError: Bool { !isTaken(STDERR_FILENO) }
}
