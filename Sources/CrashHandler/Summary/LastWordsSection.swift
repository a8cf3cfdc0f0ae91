internal import CSignalSafe
internal import IntermediateDump

/// Puts the last words together; nothing is written yet.
///
/// RUNS-DURING-CRASH. Docs/Reports.md describes the lines.
@c(pm_write_last_words) @_noLocks
func pm_write_last_words(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  if capture.session.exception.isBacktraced {
    var block = LastWordsBlock(capture)
    block.appendOnly()
    return
  }
  // Without a dump nobody has read them yet, or not for this crash.
  if !capture.session.outcome.hasFile || capture.session.mappings.count == 0 {
    unsafe pm_read_mappings(argument)
  }
  var block = LastWordsBlock(capture)
  block.appendHead()
  block.appendFrames()
  block.appendEnd()
}

/// The lines of the last words, one after another in the block's memory.
///
/// Each line is whole or not there, and counted as soon as it is whole: a fault in the middle
/// leaves those before it.
///
/// RUNS-DURING-CRASH.
@safe
private struct LastWordsBlock {
  /// Bytes kept back for the last line.
  private static var endSize: Int { @_noLocks get { 64 } }
  /// The most bytes of one text that the program or the user chose.
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
      capture.installed.lastWords.block.address,
      capacity: LastWords.blockSize &- LastWordsBlock.endSize)
  }

  // MARK: - Lines

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
      text.rewind(to: capture.session.lastWordsCount)
      return false
    }
    capture.session.lastWordsCount = text.count
    return true
  }

  /// NUL-terminated text of ours.
  @_noLocks
  private mutating func appendText(_ bytes: UnsafePointer<CChar>, limit: Int) {
    var count = 0
    // With a bound, which keeps the compiler from calling strlen.
    while count < limit, unsafe bytes[count] != 0 { count &+= 1 }
    unsafe text.append(escaping: bytes, count: count, limit: limit)
  }

  // MARK: - Head

  @_noLocks
  mutating func appendHead() {
    capture.session.lastWordsCount = 0
    begin("last-words 1 ")
    #if arch(arm64)
      text.append("arm64")
    #else
      text.append("x86_64")
    #endif
    end()
    appendNamed("product ", capture.installed.lastWords.product)
    appendNamed("version ", capture.installed.lastWords.version)
    appendSignal()
    appendMessage("message ", at: capture.installed.runtime.fatalMessageBuffer, skipping: 0)
    // Behind its size, see pm_abort_message_pointer.
    appendMessage("abort-message ", at: capture.installed.runtime.abortMessagePointer, skipping: 4)
    appendThread()
    appendReport()
  }

  @_noLocks
  private mutating func appendNamed(_ word: StaticString, _ name: Bytes) {
    guard name.count > 0 else { return }
    begin(word)
    text.append(escaping: name, limit: LastWordsBlock.nameLimit)
    end()
  }

  @_noLocks
  private mutating func appendSignal() {
    let signal = capture.session.exception.signal.number
    begin("signal ")
    text.append(decimal: Int64(signal))
    text.append(" ")
    SignalWords.append(signal: signal, to: &text)
    if let information = capture.session.exception.signal.information {
      let code = information.code
      text.append(" code ")
      text.append(decimal: Int64(code))
      text.append(" ")
      SignalWords.append(code: code, of: signal, to: &text)
      // Faults have an address: not signals that were sent, and not a breakpoint on x86_64.
      let isFault =
        signal == 4 || signal == 5 || signal == 7 || signal == 8 || signal == 11
      if isFault, code > 0, code != 0x80 {
        text.append(" address 0x")
        text.append(hexadecimal: information.faultAddress)
      }
    }
    end()
  }

  /// The text that the runtime's or libc's pointer leads to; no line if it is empty.
  @_noLocks
  private mutating func appendMessage(
    _ word: StaticString, at pointer: UInt64, skipping: UInt64
  ) {
    let place = capture.installed.lastWords.message
    var count = unsafe capture.memory.copyText(
      atPointer: pointer, skipping: skipping, to: place.address, limit: place.size)
    let message = place.bytes(count: count)
    // The line feeds at its end say nothing.
    while count > 0, message[count &- 1] == 0x0A { count &-= 1 }
    guard count > 0 else { return }
    begin(word)
    text.append(escaping: place.bytes(count: count), limit: LastWordsBlock.messageLimit)
    end()
  }

  @_noLocks
  private mutating func appendThread() {
    let thread = capture.session.exception.threadID
    begin("thread ")
    text.append(decimal: Int64(thread))
    let scratch = capture.session.scratch
    let count = unsafe ProcFile(proc: capture.session.files.proc.descriptor).readTask(
      thread, "comm", into: scratch.address, capacity: 64)
    // Its last byte is its line feed.
    if count > 1 {
      text.append(" ")
      text.append(
        escaping: scratch.bytes(count: count &- 1), limit: LastWordsBlock.nameLimit)
    }
    end()
  }

  /// One line in place of a block: Swift's backtracer prints the rest.
  @_noLocks
  mutating func appendOnly() {
    capture.session.lastWordsCount = 0
    begin("crash-report ")
    appendReportID()
    text.append(" ")
    appendDump()
  }

  /// The report ID, and where its dump lies or why there is none.
  @_noLocks
  private mutating func appendReport() {
    begin("report ")
    appendReportID()
    end()
    begin("dump ")
    appendDump()
  }

  @_noLocks
  private mutating func appendReportID() {
    unsafe text.append(
      capture.session.names.finished + capture.session.names.reportIDOffset,
      count: ReportName.textLength)
  }

  /// What became of the dump, to the end of the line.
  @_noLocks
  private mutating func appendDump() {
    let outcome = capture.session.outcome
    if !outcome.hasFile {
      text.append("none ")
    } else {
      text.append(outcome.isComplete ? "complete " : "torn ")
    }
    if outcome.failure == 0 {
      text.append("-")
    } else {
      SignalWords.append(errno: outcome.failure, to: &text)
    }
    text.append(" ")
    unsafe appendText(capture.installed.paths.folder, limit: LastWordsBlock.pathLimit)
    if outcome.hasFile {
      text.append("/")
      let name =
        unsafe outcome.isRenamed ? capture.session.names.finished : capture.session.names.locked
      unsafe appendText(name, limit: LastWordsBlock.nameLimit &* 2)
    }
    end()
  }

  // MARK: - Frames

  @_noLocks
  mutating func appendFrames() {
    guard let context = capture.session.exception.signal.context else { return }
    let mappings = capture.session.mappings
    let memory = capture.memory
    let scratch = unsafe capture.session.scratch.address
    let code = unsafe CodeMemory(mappings: mappings, memory: memory, scratch: scratch)
    var trail = unsafe FrameTrail(
      context: context, mappings: mappings, code: code, memory: memory,
      place: capture.installed.lastWords.frames.address, scratch: scratch + ModuleImage.scratchSize)
    trail.walk()
    var index = 0
    while index < trail.count, index < FrameTrail.capacity &- 1 {
      let address = trail.address(index)
      // A call may be its function's last instruction, and the function the module's last.
      let module = code.module(around: index > 0 ? address &- 1 : address)
      let start = module >= 0 ? mappings[module].start : 0
      var number = -1
      if module >= 0 {
        number = numberOfModule(start)
        if number == moduleCount, !appendModule(mappings[module]) { break }
      }
      begin("frame ")
      text.append(decimal: Int64(index))
      text.append(" ")
      if number >= 0 {
        text.append(decimal: Int64(number))
      } else {
        text.append("-")
      }
      text.append(trail.isGuessed(index) ? "?0x" : "+0x")
      text.append(hexadecimal: address &- start)
      if module >= 0 {
        text.append(" ")
        appendBaseName(mappings[module])
      }
      guard end() else { break }
      index &+= 1
    }
    if index < trail.count {
      begin("more-frames")
      end()
    }
  }

  /// The number of a module that was named before; `moduleCount` for one that was not.
  @_noLocks
  private func numberOfModule(_ start: UInt64) -> Int {
    var index = 0
    while index < moduleCount {
      let known = capture.installed.lastWords.modules.word(index &* 8)
      if known == start { return index }
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
    var written = 0
    if let image {
      let buildID = image.buildID()
      while written < buildID.count {
        text.append(hexadecimal: UInt64(buildID[written]), digits: 2)
        written &+= 1
      }
    }
    if written == 0 { text.append("-") }
    text.append(" ")
    text.append(
      escaping: capture.session.mappings.path(of: mapping), limit: LastWordsBlock.pathLimit)
    guard end() else { return false }
    capture.installed.lastWords.modules.setWord(moduleCount &* 8, mapping.start)
    moduleCount &+= 1
    return true
  }

  @_noLocks
  private mutating func appendBaseName(_ mapping: Mapping) {
    let path = capture.session.mappings.path(of: mapping)
    var start = path.count
    while start > 0, path[start &- 1] != 0x2F { start &-= 1 }
    text.append(escaping: path.dropFirst(start), limit: LastWordsBlock.nameLimit)
  }

  @_noLocks
  mutating func appendEnd() {
    text.extend(by: LastWordsBlock.endSize)
    begin("end")
    end()
  }
}
