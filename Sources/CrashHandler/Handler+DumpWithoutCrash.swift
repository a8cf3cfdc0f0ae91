internal import CSignalSafe
internal import Glibc
public import IntermediateDump

extension Handler {
  /// Takes a dump of this process in its current state, and puts the dump into the pending directory.
  ///
  /// The next call of `processIntermediateDumps`, in any process, converts the dump to a report;
  /// `processIntermediateDump(_:)` converts it immediately. The report says "Dump requested by the program", does not
  /// count as a crash, and lists the calling thread first. If `stopsThreads` is false, no signal is sent to other
  /// threads, and the dump contains the stacks of waiting threads, but only the names and states of running threads.
  /// Taking a dump takes a few milliseconds, and 16 MiB of address space during that time. The dump file is a few
  /// hundred kilobytes large. If the program uses Swift concurrency, a search for its tasks comes first. The search
  /// reads at most 64 MiB of memory and takes at most 50 ms of CPU time. Any number of threads may call this function
  /// at the same time. A crash during the call is captured too. Never call this function from a signal handler.
  ///
  /// The report shows the stack, context (`withContext`) and breadcrumbs of the calling thread. So call this function
  /// where the problem is detected, on the thread that detects it.
  ///
  /// - Parameters:
  ///   - reason: the report's headline, which is also a part of its signature; cut to 512 bytes. Reports with the same
  ///     reason form one group, so pass data that varies as an annotation.
  ///   - error: an error to show in the report: its type, cut to 256 bytes, and its `String(describing:)`, cut to
  ///     1024 bytes. Without a reason, that description is the headline, and the signature begins with the type.
  ///   - annotations: annotations only for this report, which replace annotations of `startHandler` with the same
  ///     names. The first 64 annotations in the order of their names are kept, with names cut to 128 bytes and values
  ///     cut to 1024 bytes.
  ///   - stopsThreads: whether to stop other threads during the dump, so that it also contains the registers and
  ///     stacks of running threads. System calls such as `nanosleep`, `poll` and `epoll_wait` may fail with EINTR in
  ///     those threads.
  /// - Returns: the ID that the report will have. If the process may no longer rename files in the directory, the
  ///   report is created only after the process has ended.
  /// - Throws: `CrashHandlerError` if the kernel refuses the memory, if the memory cgroup has too little room, if a
  ///   crash or other dumps keep this dump from stopping threads, if the dump cannot be written, or in a vfork(2)
  ///   child. In all these cases, no file remains that could be converted to a report.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessing.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    reason: String? = nil, error: (any Error)? = nil, annotations: [String: String] = [:],
    stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    try LiveDump(reason, error, annotations, stopsThreads: stopsThreads).take()
  }

  /// Takes a dump of this process in its current state, into a file that the program chooses.
  ///
  /// The program then either deletes the file or passes it to `processIntermediateDump(at:)`. Use this for a problem
  /// that may turn out to be harmless, such as a request that takes too long.
  ///
  /// - Parameters:
  ///   - path: the path of the file, which must not exist yet; the file is created with mode 0600.
  ///   - reason: as for `dumpWithoutCrash(reason:error:annotations:stopsThreads:)`.
  ///   - error: as for `dumpWithoutCrash(reason:error:annotations:stopsThreads:)`.
  ///   - annotations: as for `dumpWithoutCrash(reason:error:annotations:stopsThreads:)`.
  ///   - stopsThreads: as for `dumpWithoutCrash(reason:error:annotations:stopsThreads:)`.
  /// - Returns: the ID that the report will have.
  /// - Throws: `CrashHandlerError`, for example if the file cannot be created.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessingAtPath.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    to path: String, reason: String? = nil, error: (any Error)? = nil,
    annotations: [String: String] = [:], stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    let dump = try LiveDump(reason, error, annotations, stopsThreads: stopsThreads)
    let descriptor = unsafe open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw CrashHandlerError(.dumpFailed, "cannot create the file '\(path)'", errno: errno)
    }
    // When `dump` is destroyed, it also closes this descriptor.
    dump.redirect(to: descriptor)
    do throws(CrashHandlerError) {
      return try dump.take()
    } catch {
      unsafe unlink(path)
      throw error
    }
  }
}

extension LiveDump {
  /// Prepares a dump for `dumpWithoutCrash`.
  fileprivate init(
    _ reason: String?, _ error: (any Error)?, _ annotations: [String: String], stopsThreads: Bool
  ) throws(CrashHandlerError) {
    var request = DumpRequest()
    request.kind = .program
    request.stops = stopsThreads ? .all : .none
    try self.init(request, details: DumpDetails(reason, error, annotations))
  }
}
