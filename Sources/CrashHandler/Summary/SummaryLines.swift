internal import CSignalSafe
internal import IntermediateDump

/// The lines of the crash summary for people, which are stored one after another in memory.
///
/// Docs/Internals/CrashSummary.md describes the lines.
///
/// A line counts only when it is complete, so a fault while a line is built does not affect earlier lines.
///
/// RUNS-DURING-CRASH.
@safe
struct SummaryLines {
  /// How many bytes are reserved for the last line.
  private static var endSize: Int { 560 }
  /// The maximum number of bytes of the last line after the frames, without the command that shows the report.
  private static var restSize: Int { 160 }
  /// The maximum number of bytes of the database's path.
  static var pathLimit: Int { @_noLocks get { 320 } }
  /// The maximum number of frames in the last line.
  private static var frameLimit: Int { 8 }

  let capture: Capture
  private var text: TextBuffer
  private var frames = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    let summary = capture.installed.summary
    let size = CrashSummary.textSize &- LogPiece.maximumCount &* LogPiece.lineSize
    unsafe text = TextBuffer(summary.memory.address, capacity: size &- SummaryLines.endSize)
    summary.size = 0
  }

  private mutating func begin() {
    text.append("postmortem[", decimal: Int64(capture.shared.process.id))
    text.append("]: ")
  }

  /// Ends the line that `begin` began; removes the line if it does not fit.
  private mutating func end() {
    text.append(byte: 0x0A)
    let summary = capture.installed.summary
    if text.isCut { text.rewind(to: summary.size) } else { summary.size = text.count }
  }

  /// Adds the line with the program, the signal, the thread and, unless `HandlerOptions.privacy` leaves out private
  /// data, the message.
  @_noLocks
  mutating func appendCrash() {
    begin()
    text.append(escaping: capture.installed.summary.program, limit: 98)
    text.append("crashed:")
    appendSignal()
    text.append(", thread ", decimal: Int64(capture.session.exception.threadID))
    let message = capture.message(capture.session.exception.messageSizes.first > 0 ? 0 : 1)
    if message.count > 0 { text.append(": ", escaping: message.withoutLineFeeds, limit: 280) }
    end()
  }

  private mutating func appendSignal() {
    let signal = capture.session.exception.signal
    let (number, code) = (signal.number, signal.code)
    text.appendName(0, ofLine: number, orElse: number)
    guard let information = signal.information else { return }
    if code == SI_KERNEL {
      text.append(" SI_KERNEL")
    } else if code <= 0 {
      text.appendName(1 &- code, ofLine: SignalTable.sentLine, orElse: code)
    } else {
      text.appendName(code, ofLine: number, orElse: code)
      // The two branches above append no fault address, because these signals have none: SI_KERNEL is, for example,
      // the code of a breakpoint on x86_64, and a code of 0 or less means that the signal was sent.
      if signal.isFault { text.append(" at 0x", hexadecimal: information.faultAddress) }
    }
  }

  /// Adds the line with the contexts of the crashing thread, and the signal that had asked the process to end; adds no
  /// line if there is neither.
  @_noLocks
  mutating func appendWork(_ contexts: ContextValue?, termination: Int32) {
    guard contexts?.entry(0) != nil || termination != 0 else { return }
    begin()
    var offset = 0
    while let entry = contexts?.entry(offset) {
      let start = text.count
      text.append(offset == 0 ? "with " : ", ")
      text.append(escaping: entry.name, limit: 80)
      text.append(" = ", escaping: entry.value, limit: 200)
      if entry.isCut { text.append("...") }
      if text.isCut { text.rewind(to: start) }
      offset = entry.next
    }
    if termination != 0 {
      text.append(offset == 0 ? "after" : "; after")
      text.appendName(0, ofLine: termination, orElse: termination)
    }
    end()
  }

  // MARK: - The last line

  @_noLocks
  mutating func beginLast() {
    text.extend(by: SummaryLines.endSize)
    begin()
    text.append("at")
  }

  /// Adds a frame as the name of its module and the offset; without a name, the offset is an address.
  ///
  /// - Parameter isGuess: true to mark the frame as uncertain.
  @_noLocks
  mutating func appendFrame(_ name: Bytes, _ offset: UInt64, isGuess: Bool) {
    let rest = SummaryLines.restSize &+ capture.installed.summary.command.count
    guard frames < SummaryLines.frameLimit, rest < text.capacity &- text.count else { return }
    text.append(" ", escaping: name, limit: 24)
    text.append(name.count > 0 ? "+0x" : "0x", hexadecimal: offset)
    if isGuess { text.append("?") }
    frames &+= 1
  }

  /// Ends the last line with the commands that show the report.
  @_noLocks
  mutating func endLast() {
    let result = capture.session.result
    if result.failure != 0 {
      text.append(result.hasFile ? "; dump cut off:" : "; no dump:")
      text.appendName(result.failure, ofLine: SignalTable.errnoLine, orElse: result.failure)
    }
    if result.hasFile {
      text.append("; report: ")
      let command = capture.installed.summary.command
      unsafe text.append(command.address, count: command.count)
      let names = capture.session.names
      unsafe text.append(names.finished + names.reportIDOffset, count: 8)
    }
    text.append("; from this log: postmortem symbolicate LOG")
    end()
  }
}

extension TextBuffer {
  /// Appends a name from a line of `SignalTable`: the signal's name for number 0, otherwise the name of the code with
  /// this number; appends `value` if there is no name.
  @_noLocks
  mutating func appendName(_ number: Int32, ofLine line: Int32, orElse value: Int32) {
    let name = SignalTable.word(Int(number) &+ 2, ofLine: line)
    if number >= 0, name.count > 0 {
      append(" ", escaping: name, limit: 32)
    } else {
      append(" ", decimal: Int64(value))
    }
  }
}
