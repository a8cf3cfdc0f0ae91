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
    if unsafe capture.session.landingPads.runSection(section.entry.body, capture) != 0 {
      capture.session.progress.abandoned |= bit
      capture.session.writer.recover()
      capture.session.writer.close(toDepth: depth)
    }
    if section.isFlushed, OwnDescriptors(capture).check() { capture.session.writer.flush() }
  }
}
