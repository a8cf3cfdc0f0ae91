internal import CSignalSafe
internal import IntermediateDump

/// Puts the lines of the summary together.
///
/// RUNS-DURING-CRASH. Docs/Reports.md describes the lines.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.session.summarySize = 0
  var lines = SummaryLines(capture)
  if capture.session.exception.isBacktraced { return lines.appendOnly() }
  // Without a dump nobody has read them yet, or not for this crash.
  if !capture.session.outcome.hasFile || capture.session.mappings.count == 0 {
    unsafe pm_read_mappings(argument)
  }
  lines.appendHead()
  lines.appendFrames()
  lines.appendEnd()
}

/// The lines, one after another in the summary's memory.
///
/// Each line is whole or not there, and counted as soon as it is whole: a fault in the middle
/// leaves those before it.
///
/// RUNS-DURING-CRASH.
@safe
private struct SummaryLines {
  /// Bytes kept back for the last line.
  private static var endSize: Int { @_noLocks get { 64 } }
  // The most bytes of one text that the program or the user chose.
  private static var nameLimit: Int { @_noLocks get { 160 } }
  private static var pathLimit: Int { @_noLocks get { 512 } }
  private static var messageLimit: Int { @_noLocks get { 900 } }

  private let capture: Capture
  private var text: TextBuffer
  private var moduleCount = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    unsafe text = TextBuffer(
      capture.installed.summary.text.address,
      capacity: CrashSummary.textSize &- SummaryLines.endSize)
  }

  @_noLocks
  private mutating func begin(_ word: StaticString) {
    text.append("postmortem[")
    text.append(decimal: Int64(capture.shared.process.id))
    text.append("]: ")
    text.append(word)
  }

  /// Ends a line; false, and takes it back, if it did not fit.
  @_noLocks @discardableResult
  private mutating func end() -> Bool {
    text.append(byte: 0x0A)
    if text.isCut {
      text.rewind(to: capture.session.summarySize)
      return false
    }
    capture.session.summarySize = text.count
    return true
  }

  /// A line of a word and a text; none if the text is empty.
  @_noLocks
  private mutating func append(_ word: StaticString, _ value: Bytes, limit: Int) {
    guard value.count > 0 else { return }
    begin(word)
    text.append(escaping: value, limit: limit)
    end()
  }

  // MARK: - Head

  @_noLocks
  mutating func appendHead() {
    #if arch(arm64)
      begin("crash-summary 2 arm64")
    #else
      begin("crash-summary 2 x86_64")
    #endif
    end()
    append("product ", capture.installed.summary.product, limit: SummaryLines.nameLimit)
    append("version ", capture.installed.summary.version, limit: SummaryLines.nameLimit)
    appendSignal()
    appendMessage("message ", at: capture.installed.runtime.fatalMessageBuffer, skipping: 0)
    // Behind its size, see pm_abort_message_pointer.
    appendMessage("abort-message ", at: capture.installed.runtime.abortMessagePointer, skipping: 4)
    appendThread()
    begin("report ")
    appendReportID()
    end()
    begin("dump ")
    appendDump()
  }

  @_noLocks
  private mutating func appendSignal() {
    let signal = capture.session.exception.signal
    begin("signal ")
    text.append(decimal: Int64(signal.number))
    text.append(" ")
    SignalWords.append(signal: signal.number, to: &text)
    if let information = signal.information {
      text.append(" code ")
      text.append(decimal: Int64(signal.code))
      text.append(" ")
      SignalWords.append(code: signal.code, of: signal.number, to: &text)
      // Signals that were sent have none, and a breakpoint on x86_64.
      if signal.isFault, signal.code > 0, signal.code != SI_KERNEL {
        text.append(" address 0x")
        text.append(hexadecimal: information.faultAddress)
      }
    }
    end()
  }

  /// The text that the runtime's or libc's pointer leads to.
  @_noLocks
  private mutating func appendMessage(
    _ word: StaticString, at pointer: UInt64, skipping: UInt64
  ) {
    let place = capture.installed.summary.message
    var count = unsafe capture.memory.copyText(
      atPointer: pointer, skipping: skipping, to: place.address, limit: place.size)
    let message = place.bytes(count: count)
    // The line feeds at its end say nothing.
    while count > 0, message[count &- 1] == 0x0A { count &-= 1 }
    append(word, place.bytes(count: count), limit: SummaryLines.messageLimit)
  }

  @_noLocks
  private mutating func appendThread() {
    let thread = capture.session.exception.threadID
    begin("thread ")
    text.append(decimal: Int64(thread))
    let scratch = capture.session.scratch
    let count = unsafe capture.proc.readTask(
      thread, "comm", into: scratch.address, capacity: 64)
    // Its last byte is its line feed.
    if count > 1 {
      text.append(" ")
      text.append(escaping: scratch.bytes(count: count &- 1), limit: SummaryLines.nameLimit)
    }
    end()
  }

  /// One line in place of all: Swift's backtracer prints the rest.
  @_noLocks
  mutating func appendOnly() {
    begin("crash-report ")
    appendReportID()
    text.append(" ")
    appendDump()
  }

  @_noLocks
  private mutating func appendReportID() {
    unsafe text.append(
      capture.session.names.finished + capture.session.names.reportIDOffset,
      count: ReportName.textLength)
  }

  /// Appends the dump's path, or the reason that there is none, to the end of the line.
  @_noLocks
  private mutating func appendDump() {
    let outcome = capture.session.outcome
    text.append(!outcome.hasFile ? "none " : outcome.isComplete ? "complete " : "torn ")
    if outcome.failure == 0 {
      text.append("-")
    } else {
      SignalWords.append(errno: outcome.failure, to: &text)
    }
    text.append(" ")
    unsafe text.append(escaping: capture.installed.paths.directory, limit: SummaryLines.pathLimit)
    if outcome.hasFile {
      text.append("/")
      let names = capture.session.names
      let name = unsafe outcome.isRenamed ? names.finished : names.locked
      unsafe text.append(escaping: name, limit: SummaryLines.nameLimit &* 2)
    }
    end()
  }

  // MARK: - Frames

  @_noLocks
  mutating func appendFrames() {
    guard let context = capture.session.exception.signal.context else { return }
    let mappings = capture.session.mappings
    var chain = FrameChain(
      context: context, mappings: mappings, memory: capture.memory,
      entries: capture.installed.summary.frames, scratch: capture.session.scratch)
    chain.walk()
    var index = 0
    while index < chain.count, index < FrameChain.capacity &- 1 {
      let address = chain.address(index)
      // A call may be its function's last instruction, and the function the module's last.
      let module = mappings.fileStart(around: index > 0 ? address &- 1 : address)
      guard appendFrame(index, of: chain, module: module) else { break }
      index &+= 1
    }
    if index < chain.count {
      begin("more-frames")
      end()
    }
  }

  /// - Parameter module: the index of the mapping where it begins; -1 for none.
  @_noLocks
  private mutating func appendFrame(
    _ number: Int, of chain: FrameChain, module: Int
  ) -> Bool {
    let mapping = capture.session.mappings[module < 0 ? 0 : module]
    let start = module < 0 ? 0 : mapping.start
    let known = module < 0 ? -1 : numberOfModule(start)
    if known == moduleCount, !appendModule(mapping) { return false }
    begin("frame ")
    text.append(decimal: Int64(number))
    text.append(" ")
    if known < 0 { text.append("-") } else { text.append(decimal: Int64(known)) }
    switch chain.evidence(number) {
    case FrameChain.Evidence.framePointer: text.append("+0x")
    case FrameChain.Evidence.savedPointer: text.append("~0x")
    default: text.append("?0x")
    }
    text.append(hexadecimal: chain.address(number) &- start)
    let place = chain.place(number)
    if place == FrameChain.linkRegister {
      text.append("@lr")
    } else if place != FrameChain.register {
      text.append("@0x")
      text.append(hexadecimal: place)
    }
    if chain.savedPointer(number) != FrameChain.none {
      text.append("^0x")
      text.append(hexadecimal: chain.savedPointer(number))
    }
    if module >= 0 {
      text.append(" ")
      let path = capture.session.mappings.path(of: mapping)
      var name = path.count
      while name > 0, path[name &- 1] != 0x2F { name &-= 1 }
      text.append(escaping: path.dropFirst(name), limit: SummaryLines.nameLimit)
    }
    return end()
  }

  /// The number of a module that was named before; `moduleCount` for one that was not.
  @_noLocks
  private func numberOfModule(_ start: UInt64) -> Int {
    var index = 0
    while index < moduleCount, capture.installed.summary.modules.word(index &* 8) != start {
      index &+= 1
    }
    return index
  }

  /// Names a module; false if there is no more room.
  @_noLocks
  private mutating func appendModule(_ mapping: Mapping) -> Bool {
    begin("module ")
    text.append(decimal: Int64(moduleCount))
    text.append(" ")
    let image = unsafe ModuleImage(
      at: mapping.start, memory: capture.memory, scratch: capture.session.scratch.address)
    let buildID = image?.buildID()
    var index = 0
    while let byte = buildID, index < byte.count {
      text.append(hexadecimal: UInt64(byte[index]), digits: 2)
      index &+= 1
    }
    text.append(index == 0 ? "- " : " ")
    text.append(
      escaping: capture.session.mappings.path(of: mapping), limit: SummaryLines.pathLimit)
    guard end() else { return false }
    capture.installed.summary.modules.setWord(moduleCount &* 8, mapping.start)
    moduleCount &+= 1
    return true
  }

  @_noLocks
  mutating func appendEnd() {
    text.extend(by: SummaryLines.endSize)
    begin("end")
    end()
  }
}
