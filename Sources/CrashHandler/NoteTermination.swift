internal import CSignalSafe
internal import IntermediateDump

/// Notes that a signal has asked this process to end; for programs that handle such signals themselves.
///
/// Call this function when the program learns of the signal; a signal handler may call it. If the process then ends
/// without `exit` or `_exit`, a report can say that it was killed because it did not stop in time. Only the first call
/// has an effect. A call makes a few system calls. The function does nothing if the handler was not started, or if
/// reports on how processes end are turned off.
///
/// - Parameter signal: the number of the signal that has asked the process to end; SIGTERM by default.
///
/// Source: systemd.kill(5), Kubernetes "Termination of Pods".
public func noteTermination(signal: Int32 = 15) {
  guard let capture = Capture.ofHandler else { return }
  capture.noteTermination(signal, reaction: .program)
}
