internal import CSignalSafe
internal import IntermediateDump

/// Writes what is known of one thread.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadWriter {
  private let stacks: StackWriter
  private let memory: SafeMemory
  private let status: ThreadStatus
  private let calls: CrashCalls
  private let waiting: WaitingCrashes
  private let readsAgain: Bool
  private let output: DumpOutput

  /// - Parameter readsAgain: whether threads may have gone on since they were found.
  @_noLocks
  init(
    stacks: StackWriter, memory: SafeMemory, status: ThreadStatus, calls: CrashCalls,
    waiting: WaitingCrashes, readsAgain: Bool, output: DumpOutput
  ) {
    self.stacks = stacks
    self.memory = memory
    self.status = status
    self.calls = calls
    self.waiting = waiting
    self.readsAgain = readsAgain
    self.output = output
  }

  @_noLocks
  func writeAll(of threads: ThreadTable, except threadID: Int32, limit: Int) {
    var index = 0
    let count = threads.count
    while index < count {
      let record = threads[index]
      if !record.status.isGone && record.threadID != threadID { write(record, limit: limit) }
      index &+= 1
    }
  }

  /// Writes a thread of the table; `ThreadSnapshot.CaptureMethod` gives the numbers their meaning.
  @_noLocks
  func write(_ record: ThreadRecord, limit: Int, as key: IntermediateDumpKey = .thread) {
    output.startMap(key)
    // One that could not be stopped may have crashed since.
    if !record.status.isStill, let crash = waiting.crash(of: record.threadID) {
      record.setCrash(crash)
    }
    if record.status.isStill {
      writeIdentity(threadID: record.threadID, method: record.has(.stopped) ? 2 : 3)
      writeStatus(record)
      output.unsigned(.threadPointer, record.fields.threadPointer)
      if let context = record.fields.context {
        writeContext(context)
        stacks.write(from: context.stackPointer, limit: limit)
      }
    } else {
      writeUnstopped(record, limit: limit)
    }
    output.end()
  }

  /// Writes a thread that did not stop: the kernel tells where a blocked one stands, without waking
  /// it.
  ///
  /// Source: proc_pid_syscall(5): `number arguments… stack-pointer instruction-pointer`, or
  /// `running`.
  @_noLocks
  private func writeUnstopped(_ record: ThreadRecord, limit: Int) {
    if record.systemCall.count == 0 || readsAgain { status.readSystemCall(record) }
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
    output.countThreadReadFromKernel()
    output.unsigned(.threadStackPointer, stackPointer)
    output.unsigned(.threadInstructionPointer, instructionPointer)
    stacks.write(from: stackPointer, limit: limit)
  }

  @_noLocks
  func writeIdentity(threadID: Int32, method: UInt64) {
    output.identifier(.threadID, threadID)
    output.unsigned(.captureMethod, method, width: 1)
  }

  /// Writes name, state and blocked signals, as they were before the thread was asked to stop.
  @_noLocks
  private func writeStatus(_ record: ThreadRecord) {
    output.property(.threadName, record.name)
    if record.fields.stateLetter != 0 {
      output.unsigned(.threadState, UInt64(record.fields.stateLetter), width: 1)
    }
    output.unsigned(.blockedSignals, record.fields.blockedSignals)
    if record.systemCall.count > 0 { output.property(.systemCall, record.systemCall) }
    writeScheduling(of: record.threadID)
  }

  @_noLocks
  private func writeScheduling(of threadID: Int32) {
    guard calls.makes(CallBit.scheduling) else { return }
    let policy = pm_sched_getscheduler(threadID)
    if policy >= 0 {
      // Bit 30 is SCHED_RESET_ON_FORK.
      output.unsigned(.schedulingPolicy, UInt64(truncatingIfNeeded: policy & 0xFF), width: 1)
    }
    let priority = pm_getpriority(threadID)
    if priority > 0 {
      output.signed(.niceValue, Int64(truncatingIfNeeded: 20 &- priority), width: 4)
    }
  }

  /// Writes name and state of the capturing thread, which ran when it crashed; its mask is with its
  /// registers.
  @_noLocks
  func writeOwnStatus(_ threadID: Int32) {
    var scanner = status.text(of: threadID)
    if scanner.find("Name:") { output.property(.threadName, scanner.line) }
    output.unsigned(.threadState, 0x52, width: 1)  // "R"
    writeScheduling(of: threadID)
  }

  // MARK: - Registers

  /// Writes the general registers, and the floating-point and vector state as the kernel saved it.
  @_noLocks
  func writeContext(_ context: SignalContext) {
    output.property(.generalRegisters, context.generalRegisters)
    let area = context.floatingPoint
    let capacity = 16384
    guard area != 0,
      let place = unsafe output.beginProperty(.floatingPointState, capacity: capacity)
    else { return }
    guard unsafe memory.copy(area, to: place, count: 512) == 512 else { return }
    let size = Int(truncatingIfNeeded: unsafe pm_floating_point_size(place))
    guard size > 0, size <= capacity else { return }
    let copied = unsafe memory.copy(area, to: place, count: size)
    if copied >= 512 { output.finishProperty(count: copied) }
  }
}
