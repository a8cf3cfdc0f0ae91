/// Writes the part of a run record that describes the record's owner; this part follows the `RunCourse`.
///
/// Both `startHandler` and the code that creates records in a crash use this type to write these properties.
///
/// RUNS-DURING-CRASH: under the rules of `Docs/Internals/AsyncSignalSafety.md`. `RunRecord` reads the properties.
package struct OwnerProperties {
  private let processID: UInt32
  private let startTime: UInt64
  private let stackStart: UInt64
  private let processNamespace: UInt64
  private let timeNamespace: UInt64
  /// The time of the launch; nil to write no launch time.
  package var launchTime: Int64?
  package var toldStacks: UInt64?
  package var signals: OwnerSignals?
  private let isMapped: Bool
  private let takesRequests: Bool

  /// - Parameters:
  ///   - startTime: the start time; 0 if it is not known. In the next three parameters, 0 has the same meaning.
  ///   - isMapped: as in `RunRecord`.
  @_noLocks
  package init(
    processID: UInt32, startTime: UInt64, stackStart: UInt64, processNamespace: UInt64,
    timeNamespace: UInt64, isMapped: Bool, takesRequests: Bool
  ) {
    self.processID = processID
    self.startTime = startTime
    self.stackStart = stackStart
    self.processNamespace = processNamespace
    self.timeNamespace = timeNamespace
    self.isMapped = isMapped
    self.takesRequests = takesRequests
  }

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
