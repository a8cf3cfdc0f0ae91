internal import CSignalSafe
internal import IntermediateDump

/// Notes that a signal has asked this process to end, in a program that handles it itself.
///
/// Call it where the program learns of the signal, a signal handler included. If the process then
/// ends without exit or `_exit`, the next start can say that it was killed because it did not stop
/// in time. The first call counts. Costs a few system calls; nothing where the handler was not
/// started, or was told not to follow how the run ends.
///
/// - Parameter signal: its number; by default SIGTERM's.
///
/// Source: systemd.kill(5), Kubernetes "Termination of Pods".
public func noteTermination(signal: Int32 = 15) {
  guard let capture = Capture.ofHandler else { return }
  capture.noteTermination(signal, reaction: .program)
}
