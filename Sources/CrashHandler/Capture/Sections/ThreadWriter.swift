internal import CSignalSafe
internal import IntermediateDump

/// Writes what is known of one thread.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadWriter {
  /// Bytes of memory in one region at most; a longer stack is several.
  private static var chunkSize: Int { @_noLocks get { 65536 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// A thread of the table; `ThreadSnapshot.CaptureMethod` gives the numbers their meaning.
  @_noLocks
  func writeThread(_ record: ThreadRecord, limit: Int, as key: IntermediateDumpKey = .thread) {
    capture.session.writer.startMap(key)
    // One that could not be stopped may have crashed since.
    if !record.status.isStill,
      let crash = capture.shared.waiting.crash(of: record.threadID)
    {
      record.setCrash(crash)
    }
    if record.status.isStill {
      writeIdentity(threadID: record.threadID, method: record.has(.stopped) ? 2 : 3)
      writeStatus(record)
      capture.session.writer.unsigned(.threadPointer, record.fields.threadPointer)
      if let context = record.fields.context {
        writeContext(context)
        writeStack(from: context.stackPointer, limit: limit)
      }
    } else {
      writeUnstopped(record, limit: limit)
    }
    capture.session.writer.end()
  }

  /// A thread that did not stop: the kernel tells where a blocked one stands, without waking it.
  ///
  /// Source: proc_pid_syscall(5): `number arguments… stack-pointer instruction-pointer`, or
  /// `running`.
  @_noLocks
  private func writeUnstopped(_ record: ThreadRecord, limit: Int) {
    // Where nobody was stopped the thread may have gone on since it was found.
    if record.systemCall.count == 0 || !capture.session.request.isCrash {
      ThreadStopper(capture).readSystemCall(record)
    }
    var scanner = record.systemCall.text
    guard record.systemCall.count > 0 else {
      writeIdentity(threadID: record.threadID, method: 5)
      writeStatus(record)
      return
    }
    // "-1 sp pc" for a thread blocked outside a system call, else number, six arguments, sp, pc.
    let words = scanner.matches("-1") ? 1 : 7
    var word = 0
    while word < words {
      scanner.skipWord()
      scanner.skipBlanks()
      word &+= 1
    }
    let stackPointer = scanner.hexadecimal()
    scanner.skipBlanks()
    let instructionPointer = scanner.hexadecimal()
    writeIdentity(threadID: record.threadID, method: 4)
    writeStatus(record)
    capture.session.counts.threadsReadFromKernel &+= 1
    capture.session.writer.unsigned(.threadStackPointer, stackPointer)
    capture.session.writer.unsigned(.threadInstructionPointer, instructionPointer)
    writeStack(from: stackPointer, limit: limit)
  }

  @_noLocks
  func writeIdentity(threadID: Int32, method: UInt64) {
    capture.session.writer.unsigned(
      .threadID, UInt64(UInt32(bitPattern: threadID)), width: 4)
    capture.session.writer.unsigned(.captureMethod, method, width: 1)
  }

  /// Name, state and blocked signals, as they were before the thread was asked to stop.
  @_noLocks
  private func writeStatus(_ record: ThreadRecord) {
    capture.session.writer.property(.threadName, record.name)
    if record.fields.stateLetter != 0 {
      capture.session.writer.unsigned(
        .threadState, UInt64(record.fields.stateLetter), width: 1)
    }
    capture.session.writer.unsigned(.blockedSignals, record.fields.blockedSignals)
    if record.systemCall.count > 0 {
      capture.session.writer.property(.systemCall, record.systemCall)
    }
    writeScheduling(of: record.threadID)
  }

  @_noLocks
  private func writeScheduling(of threadID: Int32) {
    guard capture.makes(CallBit.scheduling) else { return }
    let policy = pm_sched_getscheduler(threadID)
    if policy >= 0 {
      // Bit 30 is SCHED_RESET_ON_FORK.
      capture.session.writer.unsigned(
        .schedulingPolicy, UInt64(truncatingIfNeeded: policy & 0xFF), width: 1)
    }
    let priority = pm_getpriority(threadID)
    if priority > 0 {
      capture.session.writer.signed(
        .niceValue, Int64(truncatingIfNeeded: 20 &- priority), width: 4)
    }
  }

  /// The same for the capturing thread, which ran when it crashed; its mask is with its registers.
  @_noLocks
  func writeOwnStatus() {
    var scanner = ProcReader(proc: capture.session.files.proc.descriptor).text(
      ofTask: capture.session.exception.threadID, "status", in: capture.session.scratch)
    if scanner.find("Name:") { capture.session.writer.property(.threadName, scanner.line) }
    capture.session.writer.unsigned(.threadState, 0x52, width: 1)  // "R"
    writeScheduling(of: capture.session.exception.threadID)
  }

  // MARK: - Registers

  /// General registers, and the floating-point and vector state as the kernel saved it.
  @_noLocks
  func writeContext(_ context: SignalContext) {
    capture.session.writer.property(.generalRegisters, context.generalRegisters)
    let area = context.floatingPoint
    let memory = capture.memory
    let capacity = 16384
    guard area != 0,
      let place = unsafe capture.session.writer.beginProperty(
        .floatingPointState, capacity: capacity)
    else { return }
    guard unsafe memory.copy(area, to: place, count: 512) == 512 else { return }
    let size = Int(truncatingIfNeeded: unsafe pm_floating_point_size(place))
    guard size > 0, size <= capacity else { return }
    let copied = unsafe memory.copy(area, to: place, count: size)
    if copied >= 512 { capture.session.writer.finishProperty(count: copied) }
  }

  // MARK: - Stack

  /// The stack from just below its pointer to the end of its mapping, as far as the limit goes.
  ///
  /// - Parameters:
  ///   - stackPointer: after an overflow it lies in the guard page; then from the next readable
  ///     mapping up.
  ///   - limit: bytes; of a longer stack three quarters from the top and one quarter from the
  ///     bottom.
  ///   - written: what is in the dump already, and counts as written.
  @_noLocks
  func writeStack(
    from stackPointer: UInt64, limit: Int, written: WrittenStack = WrittenStack()
  ) {
    let mappings = capture.session.mappings
    let wanted = ThreadWriter.stackStart(stackPointer)
    guard mappings.count > 0 else {
      writeStackWithoutMappings(from: wanted, limit: limit, written: written)
      return
    }
    var index = mappings.index(endingAbove: wanted)
    while index < mappings.count, !mappings[index].has(Mapping.isReadable) { index &+= 1 }
    guard index < mappings.count else { return }
    let mapping = mappings[index]
    let start = mapping.start > wanted ? mapping.start : wanted
    // A pointer far below any mapping is not a stack pointer at all.
    guard start &- wanted <= 1 &<< 30 else { return }
    capture.session.writer.unsigned(.stackRegionStart, mapping.start)
    capture.session.writer.unsigned(.stackRegionEnd, mapping.end)
    let size = Int(truncatingIfNeeded: mapping.end &- start)
    let top = size <= limit ? size : limit / 4 &* 3 & ~15
    let bottom = size <= limit ? 0 : (limit &- top) & ~15
    let topEnd = start &+ UInt64(truncatingIfNeeded: top)
    let bottomStart = mapping.end &- UInt64(truncatingIfNeeded: bottom)
    capture.session.writer.startArray(.stack)
    writeMemory(from: start, to: topEnd, except: written)
    if bottom > 0 { writeMemory(from: bottomStart, to: mapping.end, except: written) }
    capture.session.writer.end()
    let omitted = size &- top &- bottom &- written.count(from: topEnd, to: bottomStart)
    if omitted > 0 {
      capture.session.writer.unsigned(
        .stackBytesOmitted, UInt64(truncatingIfNeeded: omitted))
    }
  }

  /// Where a stack is captured from.
  ///
  /// The System V ABI lets a leaf function use 128 bytes below the stack pointer.
  @_noLocks
  static func stackStart(_ stackPointer: UInt64) -> UInt64 {
    stackPointer < 128 ? 0 : (stackPointer &- 128) & ~15
  }

  /// Without /proc nobody knows where the stack ends: as much as can be read.
  @_noLocks
  private func writeStackWithoutMappings(
    from address: UInt64, limit: Int, written: WrittenStack
  ) {
    capture.session.writer.startArray(.stack)
    var done = Int(truncatingIfNeeded: written.end(around: address) &- address)
    while done < limit {
      let rest = limit &- done
      let piece = rest < ThreadWriter.chunkSize ? rest : ThreadWriter.chunkSize
      let start = address &+ UInt64(truncatingIfNeeded: done)
      let allowed = capture.memory.allowed(start, count: piece)
      guard allowed > 0, writeReadable(start, count: allowed) == piece else { break }
      done &+= piece
    }
    capture.session.writer.end()
  }

  /// A range, but for what is written already.
  @_noLocks
  private func writeMemory(from start: UInt64, to end: UInt64, except written: WrittenStack) {
    var place = start
    while place < end {
      let next = written.end(around: place)
      if next > place {
        place = next
        continue
      }
      let stop = written.start(above: place, below: end)
      writeMemory(place, count: Int(truncatingIfNeeded: stop &- place))
      place = stop
    }
  }

  @_noLocks
  func writeMemory(_ address: UInt64, count: Int) {
    var done = 0
    while done < count {
      let rest = count &- done
      let piece = rest < ThreadWriter.chunkSize ? rest : ThreadWriter.chunkSize
      writeRegion(address &+ UInt64(truncatingIfNeeded: done), count: piece)
      done &+= piece
    }
  }

  /// One region: where, how much was asked for, and as many of its bytes as can be read.
  ///
  /// A window that begins below a mapping is tried once more from the next page on.
  @_noLocks
  func writeRegion(_ address: UInt64, count: Int) {
    let allowed = capture.memory.allowed(address, count: count)
    guard allowed > 0 else { return }
    if writeReadable(address, count: allowed) > 0 { return }
    let toNextPage = 4096 &- Int(truncatingIfNeeded: address & 4095)
    if toNextPage < allowed {
      _ = writeReadable(
        address &+ UInt64(truncatingIfNeeded: toNextPage), count: allowed &- toNextPage)
    }
  }

  /// Writes a region; returns how much of it could be read: 0 leaves a region without data.
  @_noLocks
  func writeReadable(_ address: UInt64, count: Int) -> Int {
    capture.session.writer.startMap(.memoryRegion)
    capture.session.writer.unsigned(.regionAddress, address)
    capture.session.writer.unsigned(.regionSize, UInt64(truncatingIfNeeded: count))
    let copied = capture.session.writer.property(
      .regionData, of: capture.memory, at: address, count: count)
    capture.session.writer.end()
    return copied
  }
}
