/// The signals for which the handler was installed; `postmortem doctor` compares them with the signals that the
/// process handles now.
package struct OwnerSignals: Sendable, Equatable {
  /// The signals that have this package's handler; bit n - 1 stands for signal n.
  package var crash: UInt64
  /// The number of the real-time signal that stops threads that block SIGPROF; 0 if there is none.
  package var stop: UInt32
  /// The number of the signal of the watchdog's timer; 0 if there is none.
  package var watchdog: UInt32

  @_noLocks
  package init(crash: UInt64, stop: UInt32, watchdog: UInt32) {
    self.crash = crash
    self.stop = stop
    self.watchdog = watchdog
  }
}
