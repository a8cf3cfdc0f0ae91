internal import CSignalSafe

/// Where the handler continues after a fault inside the handler, or when one section of the dump, or the whole dump,
/// takes too long.
///
/// RUNS-DURING-CRASH, on the capturing thread, and on a thread that takes a dump of a process that has not crashed.
@safe
struct RecoveryPoints {
  let points: UnsafeMutablePointer<pm_recovery_point>

  /// The recovery point that is armed while a section runs.
  var section: UnsafeMutablePointer<pm_recovery_point> { @_noLocks get { unsafe points } }
  /// The recovery point that is armed while a section copies memory that may be unreadable.
  var copy: UnsafeMutablePointer<pm_recovery_point> { @_noLocks get { unsafe points + 1 } }
  /// The recovery point that is armed while the dump (`pm_write_dump`) or the summary is written.
  var dump: UnsafeMutablePointer<pm_recovery_point> { @_noLocks get { unsafe points + 2 } }

  /// Makes the thread continue at the innermost armed recovery point after a fault; returns false if none is armed.
  @_noLocks
  func recover(_ signal: DeliveredSignal) -> Bool {
    if unsafe goBack(to: copy, signal) { return true }
    if unsafe goBack(to: section, signal) { return true }
    return unsafe goBack(to: dump, signal)
  }

  /// Interrupts the running section, or the code between two sections.
  ///
  /// - Returns: false if neither runs, or the signal has no context.
  @_noLocks @discardableResult
  func breakOffSection(_ signal: DeliveredSignal) -> Bool {
    guard unsafe section.pointee.armed != 0 else {
      return breakOffDump(signal)
    }
    unsafe copy.pointee.armed = 0
    return unsafe goBack(to: section, signal)
  }

  /// Interrupts the dump, inside a section or between two sections.
  ///
  /// - Returns: false if no dump is being written, or the signal has no context.
  @_noLocks @discardableResult
  func breakOffDump(_ signal: DeliveredSignal) -> Bool {
    guard signal.context != nil, unsafe dump.pointee.armed != 0 else { return false }
    unsafe section.pointee.armed = 0
    unsafe copy.pointee.armed = 0
    return unsafe goBack(to: dump, signal)
  }

  @_noLocks
  func disarm() {
    unsafe section.pointee.armed = 0
    unsafe copy.pointee.armed = 0
    unsafe dump.pointee.armed = 0
  }

  private func goBack(
    to point: UnsafeMutablePointer<pm_recovery_point>, _ signal: DeliveredSignal
  ) -> Bool {
    guard let context = signal.context, unsafe point.pointee.armed != 0 else { return false }
    unsafe point.pointee.armed = 0
    unsafe pm_context_recover(context.address, point, signal.number)
    return true
  }
}
