internal import CSignalSafe
internal import IntermediateDump

/// The lines of the crash summary, which are stored one after another in memory.
///
/// Docs/Internals/CrashSummary.md describes the lines.
///
/// A line counts only when it is complete, so a fault while a line is built does not affect earlier lines.
///
/// RUNS-DURING-CRASH.
@safe
struct SummaryLines {
  /// How many bytes are reserved for the summary's last lines.
  private static var endSize: Int { 320 }
  // The maximum number of bytes of one text that the program or the user chose.
  static var nameLimit: Int { @_noLocks get { 160 } }
  static var pathLimit: Int { @_noLocks get { 512 } }

  let capture: Capture
  var text: TextBuffer
  /// True if frames were left out, because there was no room for their lines or because the stack has too many frames.
  var hasMoreFrames = false

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    let summary = capture.installed.summary
    unsafe text = TextBuffer(
      summary.memory.address, capacity: CrashSummary.textSize &- SummaryLines.endSize)
    summary.size = 0
  }

  private var summary: CrashSummary { capture.installed.summary }

  private mutating func begin(_ word: StaticString) {
    text.append("postmortem[", decimal: Int64(capture.shared.process.id))
    text.append("]: ")
    text.append(word)
  }

  @_noLocks
  mutating func begin(_ word: StaticString, decimal number: Int) {
    begin(word)
    text.append(decimal: Int64(number))
  }

  /// Ends the line that `begin` began; if the line does not fit, removes it and returns false.
  @_noLocks @discardableResult
  mutating func end() -> Bool {
    text.append(byte: 0x0A)
    let fits = !text.isCut
    if fits { summary.size = text.count } else { text.rewind(to: summary.size) }
    return fits
  }

  /// Adds a line that consists of the given text.
  @_noLocks
  mutating func append(_ word: StaticString) {
    begin(word)
    end()
  }

  /// Adds a line with a keyword and a text from the program; adds no line if the text is empty.
  private mutating func append(_ word: StaticString, _ value: Bytes, limit: Int = nameLimit) {
    guard value.count > 0 else { return }
    begin(word)
    text.append(escaping: value, limit: limit)
    end()
  }

  @_noLocks
  mutating func appendHead() {
    #if arch(arm64)
      append("crash-summary 1 arm64")
    #else
      append("crash-summary 1 x86_64")
    #endif
    append("product ", summary.product)
    append("version ", summary.version)
  }

  @_noLocks
  mutating func appendSignal() {
    let signal = capture.session.exception.signal
    let (number, code) = (signal.number, signal.code)
    begin("signal ", decimal: Int(number))
    text.appendName(0, ofLine: number, orElse: number)
    if let information = signal.information {
      text.append(" code ", decimal: Int64(code))
      if code == SI_KERNEL {
        text.append(" SI_KERNEL")
      } else if code <= 0 {
        text.appendName(1 &- code, ofLine: SignalTable.sentLine, orElse: code)
      } else {
        text.appendName(code, ofLine: number, orElse: code)
        // The two branches above append no fault address, because these signals have none: SI_KERNEL is, for example,
        // the code of a breakpoint on x86_64, and a code of 0 or less means that the signal was sent.
        if signal.isFault { text.append(" address 0x", hexadecimal: information.faultAddress) }
      }
    }
    end()
  }

  /// Adds the message to which the Swift runtime's or libc's message pointer points.
  @_noLocks
  mutating func appendMessage(_ word: StaticString, at pointer: UInt64, skipping: UInt64) {
    let scratch = capture.session.scratch
    let count = unsafe capture.memory.copyText(
      atPointer: pointer, skipping: skipping, to: scratch.address, limit: 1024)
    append(word, scratch.bytes(count: count).withoutLineFeeds, limit: 900)
  }

  /// Adds the crashing thread's ID and, unless `HandlerOptions.privacy` leaves out private data, the thread's name.
  @_noLocks
  mutating func appendThread() {
    let (thread, scratch) = (capture.session.exception.threadID, capture.session.scratch)
    begin("thread ", decimal: Int(thread))
    if !capture.installed.isSanitized {
      let name = unsafe scratch.bytes(
        count: capture.proc.readName(of: thread, into: scratch.address, capacity: 64))
      if name.count > 0 { text.append(" ", escaping: name, limit: SummaryLines.nameLimit) }
    }
    end()
  }

  /// Adds the report ID, and the dump's path or the reason why there is no dump.
  ///
  /// - Parameter isAlone: true if Swift's backtracer prints the other facts; one line, which begins with `crash-report`,
  ///   is then added instead of a `report` line and a `dump` line.
  @_noLocks
  mutating func appendReport(isAlone: Bool) {
    let (outcome, names) = (capture.session.result, capture.session.names)
    begin(isAlone ? "crash-report " : "report ")
    unsafe text.append(names.finished + names.reportIDOffset, count: DumpNames.reportIDLength)
    if !isAlone {
      end()
      begin("dump")
    }
    text.append(!outcome.hasFile ? " none" : outcome.isComplete ? " complete" : " torn")
    if outcome.failure == 0 {
      text.append(" -")
    } else {
      text.appendName(outcome.failure, ofLine: SignalTable.errnoLine, orElse: outcome.failure)
    }
    text.append(" ")
    unsafe text.append(escaping: capture.installed.paths.directory, limit: SummaryLines.pathLimit)
    if outcome.hasFile {
      text.append("/")
      let name = unsafe outcome.isRenamed ? names.finished : names.locked
      unsafe text.append(escaping: name, limit: SummaryLines.nameLimit &* 2)
    }
    end()
  }

  /// Adds a line for each `withContext` value that was active at the crash.
  @_noLocks
  mutating func append(_ contexts: ContextValue) {
    var offset = 0
    while let entry = contexts.entry(offset) {
      begin("context ")
      text.append(escaping: entry.name, limit: SummaryLines.nameLimit)
      text.append(" = ", escaping: entry.value, limit: SummaryLines.pathLimit)
      if entry.isCut { text.append("...") }
      end()
      offset = entry.next
    }
  }

  /// Adds a line with the signal that had asked the process to end before the crash.
  @_noLocks
  mutating func append(termination signal: Int32) {
    begin("termination ", decimal: Int(signal))
    text.appendName(0, ofLine: signal, orElse: signal)
    end()
  }

  @_noLocks
  mutating func appendEnd() {
    text.extend(by: SummaryLines.endSize)
    if hasMoreFrames { append("more-frames") }
    append("end")
  }

  /// Adds the last line, which shows the commands that display the report.
  ///
  /// - Parameter isAlone: true if the handler writes no lines about the stack, so that the log alone cannot be
  ///   symbolicated.
  @_noLocks
  mutating func appendCommands(isAlone: Bool) {
    let names = capture.session.names
    if !capture.session.result.hasFile {
      if !isAlone { append("to read this: postmortem symbolicate LOG") }
      return
    }
    // The database's path is left out if it does not fit, or if it would need quotes in a shell.
    var isWithPath = summary.database.count > 0
    while true {
      begin("to read this report: postmortem show ")
      if isWithPath {
        text.append("--database ", escaping: summary.database, limit: SummaryLines.pathLimit)
        text.append(" ")
      }
      unsafe text.append(names.finished + names.reportIDOffset, count: 8)
      if !isAlone { text.append("; from this log alone: postmortem symbolicate LOG") }
      if end() || !isWithPath { return }
      isWithPath = false
    }
  }
}

extension TextBuffer {
  /// Appends a name from a line of `SignalTable`: the signal's name for number 0, otherwise the name of the code with
  /// this number; appends `value` if there is no name.
  @_noLocks
  mutating func appendName(_ number: Int32, ofLine line: Int32, orElse value: Int32) {
    let name = SignalTable.word(Int(number) &+ 2, ofLine: line)
    if number >= 0, name.count > 0 {
      append(" ", escaping: name, limit: SummaryLines.nameLimit)
    } else {
      append(" ", decimal: Int64(value))
    }
  }
}
