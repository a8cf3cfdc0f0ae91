internal import CSignalSafe
internal import Glibc
public import IntermediateDump

extension Handler {
  /// Takes a dump of this process as it is now, and leaves it in the pending directory.
  ///
  /// The next `processIntermediateDumps` of any process makes a report of it, or `processIntermediateDump(_:)`
  /// immediately. The report says "dump requested by the program", does not count as a crash, and has the calling
  /// thread first. Other threads are read without a signal: the dump has the stacks of waiting threads, and only the
  /// name and state of running ones. A dump takes some milliseconds, 16 MiB of address space while it is taken, and a
  /// file of a few hundred kilobytes. Any number of threads may call it; a crash during the call is captured. Never
  /// call it from a signal handler.
  ///
  /// Stack, context (`withContext`) and breadcrumbs are those of the calling thread, so call this function on the
  /// thread that detects the problem, where it detects it.
  ///
  /// - Parameters:
  ///   - reason: headline and signature of the report; cut to 512 bytes. Reports with the same reason form one group,
  ///     so pass data that differs each time as an annotation.
  ///   - error: its type and `String(describing:)` are kept, cut to 256 and 1024 bytes; without a
  ///     reason the text is the headline, and the type begins the signature.
  ///   - annotations: only for this report; they replace those of `startHandler` with the same names. The first 64 by
  ///     name are kept, with names cut to 128 and values to 1024 bytes.
  ///   - stopsThreads: whether to stop other threads during the dump, so that running threads also have registers and
  ///     stacks. Their calls of `nanosleep`, `poll` and `epoll_wait` may end with EINTR.
  /// - Returns: the ID that the report will have. If the process no longer has permissions for the directory, the
  ///   report is made after it ends.
  /// - Throws: `CrashHandlerError` if memory was refused, or the dump could not be written; no file is then left that
  ///   would become a report.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessing.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    reason: String? = nil, error: (any Error)? = nil, annotations: [String: String] = [:],
    stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    try LiveDump(reason, error, annotations, stopsThreads: stopsThreads).take()
  }

  /// Takes a dump of this process as it is now, into a file of the program's choice.
  ///
  /// The program deletes the file or passes it to `processIntermediateDump(at:)`. This is for a suspicion that may
  /// turn out to be wrong, for example a request that takes too long.
  ///
  /// - Parameters:
  ///   - path: a file that must not exist; it is created with mode 0600.
  ///   - reason: as with the other form.
  ///   - error: as with the other form.
  ///   - annotations: as with the other form.
  ///   - stopsThreads: as with the other form.
  /// - Returns: the ID that the report will have.
  /// - Throws: `CrashHandlerError`, also if the file cannot be created.
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
      throw CrashHandlerError(.dumpFailed, "cannot make the file '\(path)'", errno: errno)
    }
    // The descriptor is closed with the dump.
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
  /// Prepares the dump of `dumpWithoutCrash`.
  fileprivate init(
    _ reason: String?, _ error: (any Error)?, _ annotations: [String: String], stopsThreads: Bool
  ) throws(CrashHandlerError) {
    var request = DumpRequest()
    request.kind = .program
    request.stops = stopsThreads ? .all : .none
    try self.init(request, details: DumpDetails(reason, error, annotations))
  }
}
