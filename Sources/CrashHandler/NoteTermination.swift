internal import CSignalSafe
internal import IntermediateDump

/// Notes that a signal has asked this process to end, in a program that handles it itself.
///
/// Call it when the program learns of the signal, also from a signal handler. If the process then ends without exit
/// or `_exit`, the next start can say that it was killed because it did not stop in time. The first call counts. It
/// takes a few system calls. It does nothing if the handler was not started or reports on how runs end are turned
/// off.
///
/// - Parameter signal: the signal's number; SIGTERM by default.
///
/// Source: systemd.kill(5), Kubernetes "Termination of Pods".
public func noteTermination(signal: Int32 = 15) {
  guard let capture = Capture.ofHandler else { return }
  capture.noteTermination(signal, reaction: .program)
}
