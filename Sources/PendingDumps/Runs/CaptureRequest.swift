internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// A request for a dump, as the value that is queued with the stop signal of a running process.
///
/// The lower half is a number by which the sender finds the dump: the last four bytes of its report
/// ID. Source: sigqueue(3), si_value.
package struct CaptureRequest: Sendable, Equatable {
  /// The upper half but for its last bit: "PMc" and 0.
  private static var magic: UInt64 { @_noLocks get { 0x504D_6300 &>> 1 } }

  package let value: UInt64

  package init(number: UInt32, stopsThreads: Bool) {
    value = (Self.magic << 1 | (stopsThreads ? 1 : 0)) << 32 | UInt64(number)
  }

  /// Takes the value of a signal; nil if it is none of ours.
  @_noLocks
  package init?(value: UInt64) {
    guard value &>> 33 == CaptureRequest.magic else { return nil }
    self.value = value
  }

  package var number: UInt32 { @_noLocks get { UInt32(truncatingIfNeeded: value) } }
  /// Whether other threads are stopped meanwhile.
  package var stopsThreads: Bool { @_noLocks get { value &>> 32 & 1 == 1 } }

  /// The end of the text of the report ID.
  package var reportIDSuffix: String {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    return bytes.hexadecimal
  }
}

/// A process by a descriptor, which never stands for a later process of the same ID.
package struct ProcessDescriptor: ~Copyable {
  private let descriptor: Int32
  private let processID: Int32

  /// Opens it.
  ///
  /// - Throws: `SystemError`: ESRCH without such a process, ENOSYS before Linux 5.3.
  package init(_ processID: Int32) throws(SystemError) {
    let result = pm_open_process(processID)
    guard result >= 0 else { throw SystemError(errno: 0 &- result) }
    descriptor = result
    self.processID = processID
  }

  deinit { close(descriptor) }

  /// Queues a request with a signal for one thread, which ends a process that has no handler for it.
  ///
  /// Not for the process: the kernel may give that to a thread that waits in sigwait(3).
  ///
  /// - Throws: `SystemError`: EPERM for another user's process, ESRCH once it or the thread has ended.
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
