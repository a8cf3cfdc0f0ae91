internal import IntermediateDump

/// Creates the lines of the crash summary.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  var lines = SummaryLines(capture)
  // If Swift's backtracer runs, it prints the facts that these lines leave out.
  if capture.session.exception.isBacktraced {
    lines.appendReport(isAlone: true)
    appendWork(capture, to: &lines)
    return lines.appendCommands(isAlone: true)
  }
  // Without a dump, the mappings have not been read, or were read for an earlier crash, so they are read here.
  if !capture.session.result.hasFile || capture.session.mappings.count == 0 {
    unsafe pm_read_mappings(argument)
  }
  lines.appendHead()
  lines.appendSignal()
  if !capture.installed.isSanitized {
    let runtime = capture.installed.runtime
    lines.appendMessage("message ", at: runtime.fatalMessageBuffer, skipping: 0)
    // libc's message begins with its size, whose 4 bytes are skipped; see `pm_abort_message_pointer`.
    lines.appendMessage("abort-message ", at: runtime.abortMessagePointer, skipping: 4)
  }
  lines.appendThread()
  appendWork(capture, to: &lines)
  lines.appendReport(isAlone: false)
  if let context = capture.session.exception.signal.context { lines.appendStack(context) }
  lines.appendEnd()
  lines.appendCommands(isAlone: false)
}

/// Adds the contexts of the crashing thread, unless secrets are left out, and any signal that had asked the process to
/// end.
private func appendWork(_ capture: Capture, to lines: inout SummaryLines) {
  if !capture.installed.isSanitized, let contexts = capture.contextsOfThisThread() {
    lines.append(contexts)
  }
  let termination = capture.session.runRecord.termination
  if termination != 0 { lines.append(termination: termination) }
}

/// Writes the summary's lines to descriptor 2, if it refers to the same file as at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let summary = capture.installed.summary
  if capture.isSame(summary.standardError) { summary.write() }
}
