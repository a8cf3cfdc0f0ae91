/// Writes the part of a run record that describes the record's owner; this part follows the `RunCourse`.
///
/// Both `startHandler` and the code that creates records in a crash use this type to write these properties.
///
/// RUNS-DURING-CRASH: under the rules of `Docs/Internals/AsyncSignalSafety.md`. `RunRecord` reads the properties.
package struct OwnerProperties {
  package var processID: UInt32 = 0
  /// The time at which the process started, in clock ticks after boot; 0 if it is not known.
  ///
  /// The value 0 has the same meaning in `stackStart`, `processNamespace` and `timeNamespace`.
  package var startTime: UInt64 = 0
  package var stackStart: UInt64 = 0
  package var processNamespace: UInt64 = 0
  package var timeNamespace: UInt64 = 0
  /// The time of the launch in nanoseconds since 1970; nil to write no launch time.
  package var launchTime: Int64?
  package var toldStacks: UInt64?
  package var signals: OwnerSignals?
  /// `isMapped` and `takesRequests` have the same meaning as in `RunRecord`.
  package var isMapped = false
  package var takesRequests = false

  @_noLocks
  package init() {}

  /// Writes the properties into the owner's map.
  ///
  /// - Parameter bootID: the text of the boot ID; empty if it is not known.
  @_noLocks
  package func write(
    to writer: inout IntermediateDumpWriter, bootID: UnsafeRawPointer, count: Int
  ) {
    writer.unsigned(.ownerProcessID, UInt64(processID), width: 4)
    writer.unsigned(.ownerStartTime, startTime)
    writer.unsigned(.ownerStackStart, stackStart)
    unsafe writer.property(.ownerBootID, bootID, count: count)
    writer.unsigned(.ownerProcessNamespace, processNamespace)
    if let launchTime { writer.signed(.ownerLaunchTime, launchTime) }
    writer.unsigned(.ownerTimeNamespace, timeNamespace)
    writer.unsigned(.ownerIsMapped, isMapped ? 1 : 0, width: 1)
    writer.unsigned(.ownerTakesRequests, takesRequests ? 1 : 0, width: 1)
    if let toldStacks { writer.unsigned(.ownerToldStacks, toldStacks) }
    if let signals {
      writer.unsigned(.ownerCrashSignals, signals.crash)
      writer.unsigned(.ownerStopSignal, UInt64(signals.stop), width: 4)
      writer.unsigned(.ownerWatchdogSignal, UInt64(signals.watchdog), width: 4)
    }
  }
}

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
