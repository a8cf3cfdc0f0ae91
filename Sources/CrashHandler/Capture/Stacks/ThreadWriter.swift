internal import CSignalSafe
internal import IntermediateDump

/// Writes the data of one thread into the dump, such as its state, registers and stack.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadWriter {
  private let capture: Capture
  private let stacks: StackWriter
  private let status: ThreadFiles
  private let stage: MemoryStage
  /// Replaces secrets in registers; if nil, registers are written unchanged, and names are written too.
  private let sanitizer: WordSanitizer?

  @_noLocks
  init(_ capture: Capture) {
    let scratch = capture.session.scratch
    self.capture = capture
    stacks = capture.stacks
    status = ThreadFiles(capture.proc, scratch: scratch)
    stage = MemoryStage(capture.memory, in: scratch.firstHalf)
    sanitizer = capture.sanitizer
  }

  @_noLocks
  func writeAll(of threads: ThreadTable, except threadID: Int32, limit: Int) {
    var read = 0
    for index in Indices(threads.count) {
      if index >= read { read = readStacks(of: threads, from: index, limit: limit) }
      let record = threads[index]
      if !record.status.isGone && record.threadID != threadID { write(record, limit: limit) }
    }
  }

  /// Reads the stacks of as many threads as fit into `stage`, with one system call; returns the index of the next
  /// thread.
  private func readStacks(of threads: ThreadTable, from first: Int, limit: Int) -> Int {
    stage.removeAll()
    var index = first
    while index < threads.count, addStack(of: threads[index], limit: limit) { index &+= 1 }
    stage.read()
    return index > first ? index : first &+ 1
  }

  /// Adds the thread's stack to `stage`, if the stack is known; returns false if `stage` has no room for the stack, or
  /// if the stack is not entirely in memory.
  private func addStack(of record: ThreadRecord, limit: Int) -> Bool {
    guard record.status.isStill, let context = record.fields.context else { return true }
    return stacks.add(
      from: context.stackPointer, threadPointer: record.fields.threadPointer, limit: limit,
      to: stage)
  }

  @_noLocks
  func write(_ record: ThreadRecord, limit: Int, as key: IntermediateDumpKey = .thread) {
    capture.writer.startMap(key)
    // A thread that could not be stopped may have crashed in the meantime. In that case, the dump contains the
    // registers of that crash.
    if !record.status.isStill, let crash = capture.shared.waiting.value(of: record.threadID) {
      record.setCrash(crash)
    }
    if record.status.isStill {
      writeIdentity(
        threadID: record.threadID, method: record.has(.stopped) ? .stopped : .alsoCrashed)
      writeStatus(record)
      capture.writer.unsigned(.threadPointer, record.fields.threadPointer)
      if let context = record.fields.context {
        capture.writer.unsigned(.blockedSignals, context.signalMask)
        if record.isInSystemCall(context) { writeSystemCall(record) }
        writeContext(context, isExtended: false)
        stacks.write(
          from: context.stackPointer, threadPointer: record.fields.threadPointer, limit: limit,
          stage: stage)
      }
    } else {
      writeUnstopped(record, limit: limit)
    }
    capture.writer.end()
  }

  /// Writes a thread that did not stop.
  ///
  /// The kernel shows the stack pointer and instruction pointer of a blocked thread without waking the thread.
  ///
  /// Source: proc_pid_syscall(5): `number arguments… stack-pointer instruction-pointer`, or
  /// `running`.
  private func writeUnstopped(_ record: ThreadRecord, limit: Int) {
    // The thread may have continued since the thread table was filled, so its system call is read again. In a crash, it
    // is read again only if the table lacks it, or if the thread is `unresponsive`.
    if record.systemCall.count == 0 || !capture.session.request.isCrash
      || record.has(.unresponsive)
    {
      status.readSystemCall(record)
    }
    if !record.fields.knowsAllSignals { status.readBlockedSignals(record) }
    guard record.systemCall.count > 0 else {
      writeIdentity(threadID: record.threadID, method: .none)
      writeStatus(record)
      writeBlockedSignals(record)
      return
    }
    let place = SystemCallPlace(record.systemCall.text)
    writeIdentity(threadID: record.threadID, method: .kernel)
    writeStatus(record)
    writeBlockedSignals(record)
    writeSystemCall(record)
    capture.session.counts.threadsReadFromKernel &+= 1
    capture.writer.unsigned(.threadStackPointer, place.stackPointer)
    capture.writer.unsigned(.threadInstructionPointer, place.instructionPointer)
    stacks.write(from: place.stackPointer, threadPointer: 0, limit: limit)
  }

  @_noLocks
  func writeIdentity(threadID: Int32, method: CaptureMethod) {
    capture.writer.identifier(.threadID, threadID)
    capture.writer.unsigned(.captureMethod, method.code, width: 1)
  }

  /// Writes the thread's name, state and scheduling, as they were before the thread was stopped.
  private func writeStatus(_ record: ThreadRecord) {
    if !isSanitized { capture.writer.property(.threadName, record.name) }
    guard record.fields.stateLetter != 0 else { return }
    capture.writer.unsigned(.threadState, UInt64(record.fields.stateLetter), width: 1)
    writeScheduling(record.fields.schedulingPolicy, record.fields.niceValue)
  }

  private func writeBlockedSignals(_ record: ThreadRecord) {
    guard record.fields.knowsAllSignals else { return }
    capture.writer.unsigned(.blockedSignals, record.fields.blockedSignals)
  }

  private func writeSystemCall(_ record: ThreadRecord) {
    capture.writer.property(
      .systemCall, isSanitized ? record.systemCall.firstWord : record.systemCall)
  }

  private func writeScheduling(_ policy: UInt8, _ niceValue: Int8) {
    capture.writer.unsigned(.schedulingPolicy, UInt64(policy), width: 1)
    capture.writer.signed(.niceValue, Int64(niceValue), width: 4)
  }

  /// Writes the state, processor time, name and scheduling of the capturing thread, which was running.
  ///
  /// The thread's signal mask is written with its registers and not here.
  @_noLocks
  func writeOwnStatus(_ threadID: Int32) {
    capture.writer.unsigned(.threadState, 0x52, width: 1)  // "R"
    let time = capture.mayMake(CallBit.proc) ? pm_thread_processor_time() : 0
    if time != 0 { capture.writer.unsigned(.threadProcessorTime, time) }
    guard let line = status.line(of: threadID) else { return }
    if !isSanitized { capture.writer.property(.threadName, line.name) }
    writeScheduling(line.schedulingPolicy, line.niceValue)
  }

  // MARK: - Registers

  private var isSanitized: Bool {
    @_noLocks get { if case .some = sanitizer { true } else { false } }
  }

  /// Writes the general registers; if the dump leaves out secrets, replaces those that may contain a secret.
  @_noLocks
  func writeGeneralRegisters(_ context: SignalContext) {
    let registers = context.generalRegisters
    guard let sanitizer else { return capture.writer.property(.generalRegisters, registers) }
    guard
      let place = unsafe capture.writer.beginProperty(.generalRegisters, capacity: registers.count)
    else { return }
    for index in Indices(registers.count / 8) {
      let word = registers.word(index &* 8)
      unsafe place.storeBytes(
        of: ThreadWriter.isKept(index) ? word : sanitizer.sanitized(word),
        toByteOffset: index &* 8, as: UInt64.self)
    }
    capture.writer.finishProperty(count: registers.count / 8 &* 8)
  }

  /// True for the registers that never hold a secret: the instruction pointer, the stack pointer, and those that the
  /// processor or the kernel sets.
  ///
  /// The registers that the processor or the kernel sets are, on x86_64, the flags, segments, error code, trap number
  /// and mask in `gregset_t`; on arm64, pstate.
  ///
  /// The frame pointer may hold a secret, because code without frame pointers may keep any value in that register.
  private static func isKept(_ index: Int) -> Bool {
    #if arch(arm64)
      index >= 31
    #else
      index >= 15 && index <= 21
    #endif
  }

  /// How many bytes of the floating-point state a minidump's context holds.
  private static var contextStateSize: Int {
    #if arch(arm64)
      528
    #else
      512
    #endif
  }

  /// Writes the general registers, and the floating-point and vector state as the kernel saved it.
  ///
  /// If the dump leaves out secrets, only the general registers are written, and values that may be secrets are
  /// replaced.
  ///
  /// - Parameter isExtended: true to include the extended state, 300 to 10,000 bytes, which a minidump's context does
  ///   not contain.
  @_noLocks
  func writeContext(_ context: SignalContext, isExtended: Bool = true) {
    writeGeneralRegisters(context)
    guard !isSanitized, let state = context.floatingPointInFrame else { return }
    let kept = isExtended ? state : state.prefix(ThreadWriter.contextStateSize)
    if kept.count > 0 { capture.writer.property(.floatingPointState, kept) }
  }
}
