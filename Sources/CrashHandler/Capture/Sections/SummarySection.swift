internal import IntermediateDump

/// Creates the lines of the crash summary.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let (result, names) = (capture.session.result, capture.session.names)
  let directory = unsafe capture.installed.paths.directory
  var lines = SummaryLines(capture.installed.summary, processID: capture.shared.process.id)
  // If Swift's backtracer runs, it prints the facts that these lines leave out.
  if capture.session.exception.isBacktraced {
    unsafe lines.append(result, names, in: directory, isAlone: true)
    appendWork(capture, to: &lines)
    return lines.appendCommands(result, names, isAlone: true)
  }
  // Without a dump, the mappings have not been read, or were read for an earlier crash, so they are read here.
  if !result.hasFile || capture.session.mappings.count == 0 { unsafe pm_read_mappings(argument) }
  let (memory, scratch) = (capture.memory, capture.session.scratch)
  lines.appendHead()
  lines.append(capture.session.exception.signal)
  let isSanitized = capture.installed.isSanitized
  if !isSanitized {
    let runtime = capture.installed.runtime
    lines.appendMessage(
      "message ", at: runtime.fatalMessageBuffer, skipping: 0, memory: memory, scratch: scratch)
    // libc's message begins with its size, and the text follows: see `pm_abort_message_pointer`.
    lines.appendMessage(
      "abort-message ", at: runtime.abortMessagePointer, skipping: 4, memory: memory,
      scratch: scratch)
  }
  lines.appendThread(
    capture.session.exception.threadID, withName: !isSanitized, proc: capture.proc,
    scratch: scratch)
  appendWork(capture, to: &lines)
  unsafe lines.append(result, names, in: directory, isAlone: false)
  if let context = capture.session.exception.signal.context {
    var images = capture.images
    images.findAll()
    lines.appendStack(
      context, mappings: capture.session.mappings, images: images, memory: capture.cachedMemory,
      scratch: scratch)
  }
  lines.appendEnd()
  lines.appendCommands(result, names, isAlone: false)
}

/// Adds the contexts of the crashing thread, and the signal that had asked the process to end, if any.
private func appendWork(_ capture: Capture, to lines: inout SummaryLines) {
  if !capture.installed.isSanitized, let contexts = capture.contextsOfThisThread() {
    lines.append(contexts)
  }
  let termination = capture.session.runRecord.termination
  if termination != 0 { lines.append(termination: termination) }
}

/// Writes the lines to descriptor 2, if it refers to the same file as at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let summary = capture.installed.summary
  if capture.isSame(summary.standardError) { summary.write() }
}
