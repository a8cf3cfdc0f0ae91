internal import CSignalSafe
internal import Glibc
package import IntermediateDump

/// A process, identified by a pidfd; a pidfd never refers to a later process with the same ID.
package struct ProcessDescriptor: ~Copyable {
  private let descriptor: Int32
  private let processID: Int32

  /// Opens a pidfd of a process.
  ///
  /// - Throws: `SystemError`, for example ESRCH if there is no such process, or ENOSYS before Linux 5.3.
  package init(_ processID: Int32) throws(SystemError) {
    let result = pm_open_process(processID)
    guard result >= 0 else { throw SystemError(errno: 0 &- result) }
    descriptor = result
    self.processID = processID
  }

  deinit { close(descriptor) }

  /// Queues a signal that carries a request for a dump, for one thread of the process.
  ///
  /// If the process has no handler for the signal, the signal ends the process.
  ///
  /// The signal is queued for one thread, because the kernel may give a signal for the whole process to a thread that
  /// is waiting in sigwait(3).
  ///
  /// - Throws: `SystemError`, for example EPERM for another user's process, or ESRCH once the process or the thread has
  ///   ended.
  package borrowing func queue(
    _ request: CaptureRequest, signal: Int32, thread: Int32
  ) throws(SystemError) {
    guard !hasEnded else { throw SystemError(errno: ESRCH) }
    let result = pm_queue_signal(processID, thread, signal, request.value)
    guard result == 0 else { throw SystemError(errno: result) }
  }

  /// True once the process has ended.
  ///
  /// Source: pidfd_open(2), poll.
  package var hasEnded: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) == 1
  }

  /// The error of a system call.
  package struct SystemError: Error {
    package let errno: Int32
  }
}
