internal import CSignalSafe
internal import Glibc

/// Creates the threads that this package needs for itself.
package enum HelperThread {
  /// Starts a thread on a stack of 256 KiB.
  ///
  /// - Parameter main: the thread's function; it must call `prepare` first.
  package static func start(
    _ main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  ) throws(CrashHandlerError) {
    let failure = unsafe withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) {
      buffer -> Int32 in
      guard let attributes = buffer.baseAddress else { return ENOMEM }
      unsafe pthread_attr_init(attributes)
      defer { unsafe pthread_attr_destroy(attributes) }
      unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
      unsafe pthread_attr_setstacksize(attributes, 256 << 10)
      var thread = pthread_t()
      return unsafe pthread_create(&thread, attributes, main, nil)
    }
    guard failure == 0 else { throw CrashHandlerError.noThread(errno: failure) }
  }

  /// Names the calling thread, and blocks all signals in it except faults, the stop signal, and the signal with which
  /// libc changes the user of all threads.
  ///
  /// - Parameter startsWorkers: true if the thread uses queues. The worker threads that libdispatch then creates inherit
  ///   its mask, so it blocks no signal that they would not block themselves.
  package static func prepare(_ name: StaticString, startsWorkers: Bool = false) {
    if let capture = Capture.ofHandler {
      let signals = capture.installed.signals
      let blocked = startsWorkers ? pm_worker_mask() & ~SignalMask.bit(SIGABRT) : ~0
      SignalMask.set(
        blocked & ~(signals.faults | SignalMask.bit(signals.stop) | SignalMask.bit(SIGSETXID)))
    }
    // The name is set through a file, because Swift cannot call prctl(2), a variadic function.
    let descriptor = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    _ = unsafe write(descriptor, name.utf8Start, name.utf8CodeUnitCount)
  }
}
