internal import CSignalSafe
internal import Glibc
public import IntermediateDump

/// Takes a dump of this process as it is now, and leaves it in the pending folder.
///
/// The report says "dump requested by the program"; it counts as no crash. The calling thread comes
/// first in it, as it stands in this call. Other threads are read without a signal: of one that
/// waits the stack is there, from the kernel's word on where it waits; of one that runs there are
/// name and state only. Takes milliseconds, 16 MiB of address space meanwhile, and a file of a
/// few hundred kilobytes. Any number of threads may dump at once; a crash during it is captured
/// as ever. Never call it from a signal handler.
///
/// - Parameters:
///   - processing: `.deferred`.
///   - stopsThreads: whether other threads are stopped for the time of the dump, so that those that
///     run have registers and stacks too. Calls such as `nanosleep`, `poll` and `epoll_wait` may
///     then end with EINTR in them.
/// - Returns: the ID that the report will have.
/// - Throws: `CrashHandlerError` if the handler was not started, memory was refused, or the dump
///   could not be written; then nothing is left of it.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrashAndDeferProcessing.
@discardableResult @inline(never) @_disfavoredOverload
public func dumpWithoutCrash(
  processing: DeferredProcessing = .deferred, stopsThreads: Bool = false
) throws(CrashHandlerError) -> ReportID {
  let dump = try LiveDump(.program(stopsThreads: stopsThreads))
  return try dump.take()
}

/// Takes a dump of this process as it is now, into a file of the program's choice.
///
/// As `dumpWithoutCrash(processing:)`, but the file is the program's: it may drop it, or hand it to
/// `processIntermediateDump(at:)`. For what may turn out to be nothing: a request that takes too
/// long, a state that should not be.
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
    throw CrashHandlerError(.dumpFailed, "cannot make the file '\(path)'", errorNumber: errno)
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

extension DumpRequest {
  /// What `dumpWithoutCrash` asks for.
  static func program(stopsThreads: Bool) -> DumpRequest {
    var request = DumpRequest()
    request.kind = .program
    request.stops = stopsThreads ? .all : .none
    return request
  }
}
