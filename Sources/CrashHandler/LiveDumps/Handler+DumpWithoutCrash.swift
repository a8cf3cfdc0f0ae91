internal import CSignalSafe
internal import Glibc
public import IntermediateDump

extension Handler {
  /// Takes a dump of this process as it is now, and leaves it in the pending directory.
  ///
  /// The next `processIntermediateDumps` of any process makes a report of it, or
  /// `processIntermediateDump(_:)` at once. The report says "dump requested by the program", does
  /// not count as a crash, and has the calling thread first. Other threads are read without a
  /// signal: the stacks of those that wait; of those that run only name and state. Takes
  /// milliseconds, 16 MiB of address space meanwhile, and a file of a few hundred kilobytes. Any
  /// number of threads may call it; a crash meanwhile is captured. Never call it from a signal
  /// handler.
  ///
  /// - Parameter stopsThreads: whether to stop other threads during the dump, so that those that
  ///   run have registers and stacks too. Their calls of `nanosleep`, `poll` and `epoll_wait` may
  ///   end with EINTR.
  /// - Returns: the ID that the report will have.
  /// - Throws: `CrashHandlerError` if memory was refused, or the dump could not be written; no file
  ///   is left then.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessing.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    let dump = try LiveDump(.program(stopsThreads: stopsThreads))
    return try dump.take()
  }

  /// Takes a dump of this process as it is now, into a file of the program's choice.
  ///
  /// The file is the program's, which drops it or calls `processIntermediateDump(at:)`: for a
  /// suspicion that may turn out to be nothing, a request that takes too long for example.
  ///
  /// - Parameters:
  ///   - path: a file that must not exist; made, mode 0600.
  ///   - stopsThreads: as with the other form.
  /// - Returns: the ID that the report will have.
  /// - Throws: `CrashHandlerError`, also where the file cannot be made; then there is none.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessingAtPath.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    to path: String, stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    let dump = try LiveDump(.program(stopsThreads: stopsThreads))
    let descriptor = unsafe open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw CrashHandlerError(.dumpFailed, "cannot make the file '\(path)'", errno: errno)
    }
    // Closed with the dump.
    dump.redirect(to: descriptor)
    do throws(CrashHandlerError) {
      return try dump.take()
    } catch {
      unsafe unlink(path)
      throw error
    }
  }
}

extension DumpRequest {
  /// The request of `dumpWithoutCrash`.
  static func program(stopsThreads: Bool) -> DumpRequest {
    var request = DumpRequest()
    request.kind = .program
    request.stops = stopsThreads ? .all : .none
    return request
  }
}
