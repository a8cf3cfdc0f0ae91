internal import CSignalSafe
package import Glibc

/// Passes a signal that this process received on to another process, so that the other process sees who sent it.
package enum ForwardedSignal {
  /// Sends the signal with the sender and the value that this process received.
  ///
  /// A process may name another sender only with a code of its own, so SI_USER and SI_TKILL become SI_QUEUE. Without a
  /// sender, or if no more signals can be queued, the other process sees this process as the sender. Source: Linux
  /// kernel/signal.c, do_rt_sigqueueinfo.
  package static func send(_ signal: Int32, _ information: siginfo_t, to process: pid_t) {
    var information = unsafe information
    if unsafe information.si_code == CSignalSafe.SI_USER
      || information.si_code == CSignalSafe.SI_TKILL
    {
      unsafe information.si_code = CSignalSafe.SI_QUEUE
    }
    guard unsafe information.si_code < 0, unsafe pm_sigqueueinfo(process, signal, &information) == 0
    else {
      kill(process, signal)
      return
    }
  }
}
