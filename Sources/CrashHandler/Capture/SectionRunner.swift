internal import CSignalSafe
internal import IntermediateDump

/// Runs the sections of a dump, each with its own recovery point for faults.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Runs one section, and writes its bytes to the file, unless they are so few that they are written together with the
  /// next section.
  ///
  /// The section is skipped if the time for the sections is over. A fault in the section ends the section, but not the
  /// dump: maps that the section left open are closed, and the section is marked as abandoned. Because a fault can end
  /// it anywhere, a section must not own anything that needs to be released.
  @_noLocks
  func run(_ section: Section) {
    let row = section.entry
    let bit = row.bit
    // After a fault between two sections, the loop over all sections starts again. Sections that have begun are
    // skipped here.
    guard session.progress.begun & bit == 0, !session.progress.hasLostFile else { return }
    session.progress.begun |= bit
    session.progress.current = bit
    let depth = writer.depth
    guard !session.time.isCut else {
      session.progress.abandoned |= bit
      return
    }
    if session.time.isMuted {
      session.time.isMuted = false
      SignalMask.unblock(SignalMask.bit(installed.signals.watchdog))
    }
    if unsafe pm_run_section(session.recoveryPoints.section, row.body, argument) != 0 {
      session.progress.abandoned |= bit
      writer.recover()
      writer.close(toDepth: depth)
    }
    if section.isFlushed, writer.size &- session.progress.flushed >= 512 { flush() }
  }

  /// Writes the buffer to the file, unless the descriptor now refers to another file.
  ///
  /// Inlined, because `CrashDepthTests` allows at most 12 frames between a signal and the first byte in the file.
  @inline(__always) @_noLocks
  func flush() {
    guard holdsDumpFile() else { return }
    writer.flush()
    session.progress.flushed = writer.size
  }
}
