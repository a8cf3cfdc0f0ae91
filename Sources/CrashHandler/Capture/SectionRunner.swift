internal import CSignalSafe
internal import IntermediateDump

/// Runs the sections of a dump, each with a landing pad for a fault of its own.
///
/// RUNS-DURING-CRASH.
@safe
struct SectionRunner {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Runs one section, and flushes what it wrote, unless the next one does.
  ///
  /// Left out if the time is over. A fault in it ends the section, not the dump: maps that it left
  /// open are closed, the fault is noted, and the next section follows. So it may hold nothing that
  /// needs to be given back.
  @_noLocks
  func run(_ section: Section) {
    let bit = section.bit
    // After a fault between the sections they are gone through again.
    guard capture.session.progress.begun & bit == 0, !capture.session.progress.hasLostFile
    else { return }
    capture.session.progress.begun |= bit
    capture.session.progress.current = bit
    let depth = capture.session.writer.depth
    guard !capture.session.time.isCut else {
      capture.session.progress.abandoned |= bit
      return
    }
    if capture.session.time.isMuted {
      capture.session.time.isMuted = false
      unblock(SignalMask.bit(capture.installed.signals.watchdog))
    }
    if unsafe capture.session.landingPads.runSection(section.entry.body, capture) != 0 {
      capture.session.progress.abandoned |= bit
      capture.session.writer.recover()
      capture.session.writer.close(toDepth: depth)
    }
    if section.isFlushed { DumpOutput(capture).flush() }
  }
}

/// The places that faults of the handler itself, and calls that never end, come back to.
///
/// RUNS-DURING-CRASH, on the capturing thread and on one that takes a dump.
@safe
struct LandingPads {
  private let pads: UnsafeMutablePointer<pm_landing_pad>

  @_noLocks
  init(_ pads: UnsafeMutablePointer<pm_landing_pad>) {
    unsafe self.pads = pads
  }

  /// Armed while a section runs.
  var section: UnsafeMutablePointer<pm_landing_pad> { @_noLocks get { unsafe pads } }
  /// Armed during one guarded copy in it.
  var copy: UnsafeMutablePointer<pm_landing_pad> { @_noLocks get { unsafe pads + 1 } }
  /// Armed from the first section to the last.
  var dump: UnsafeMutablePointer<pm_landing_pad> { @_noLocks get { unsafe pads + 2 } }

  /// Calls a section; 0, or the signal that came back from it.
  @_noLocks
  func runSection(
    _ body: @convention(c) (UnsafeMutableRawPointer) -> Void, _ capture: Capture
  ) -> Int32 {
    unsafe pm_run_section(section, body, capture.argument)
  }

  /// Calls a function that runs sections; 0, or the signal that came back from between them.
  @_noLocks
  func runDump(
    _ body: @convention(c) (UnsafeMutableRawPointer) -> Void, _ capture: Capture
  ) -> Int32 {
    unsafe pm_run_section(dump, body, capture.argument)
  }

  /// Lands a fault on the innermost pad that is armed; false if none is.
  @_noLocks
  func landFault(_ signal: DeliveredSignal) -> Bool {
    if unsafe land(copy, signal) { return true }
    if unsafe land(section, signal) { return true }
    return unsafe land(dump, signal)
  }

  /// Breaks off the section that runs, or the code between two; false if neither runs.
  @_noLocks @discardableResult
  func breakOffSection(_ signal: DeliveredSignal) -> Bool {
    guard unsafe section.pointee.armed != 0 else {
      return breakOffDump(signal)
    }
    unsafe copy.pointee.armed = 0
    return unsafe land(section, signal)
  }

  /// Breaks off the dump, in a section or not; false if it is over.
  @_noLocks @discardableResult
  func breakOffDump(_ signal: DeliveredSignal) -> Bool {
    guard signal.context != nil, unsafe dump.pointee.armed != 0 else { return false }
    unsafe section.pointee.armed = 0
    unsafe copy.pointee.armed = 0
    return unsafe land(dump, signal)
  }

  @_noLocks
  func disarm() {
    unsafe section.pointee.armed = 0
    unsafe copy.pointee.armed = 0
    unsafe dump.pointee.armed = 0
  }

  private func land(
    _ pad: UnsafeMutablePointer<pm_landing_pad>, _ signal: DeliveredSignal
  ) -> Bool {
    guard let context = signal.context, unsafe pad.pointee.armed != 0 else { return false }
    unsafe pad.pointee.armed = 0
    unsafe pm_context_land(context.address, pad, signal.number)
    return true
  }
}
