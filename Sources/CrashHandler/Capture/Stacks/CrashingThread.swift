internal import CSignalSafe
internal import IntermediateDump

/// Writes the thread that crashed, or hangs.
///
/// RUNS-DURING-CRASH.
@safe
struct CrashingThread {
  private let exception: CapturedException
  private let threads: ThreadWriter
  private let output: DumpOutput

  @_noLocks
  init(_ exception: CapturedException, threads: ThreadWriter, output: DumpOutput) {
    self.exception = exception
    self.threads = threads
    self.output = output
  }

  @_noLocks
  func begin() { output.startMap(.crashingThread) }

  @_noLocks
  func end() { output.end() }

  @_noLocks
  func writeRegisters() {
    threads.writeIdentity(threadID: exception.threadID, method: .crashed)
    if let context = exception.signal.context {
      output.unsigned(.blockedSignals, context.signalMask)
      threads.writeContext(context)
    }
    output.unsigned(.threadPointer, pm_thread_pointer())
  }

  @_noLocks
  func writeStatus() { threads.writeOwnStatus(exception.threadID) }

  /// Writes the thread that hangs, which is not the one that captures.
  ///
  /// - Returns: its context, if it was stopped.
  @_noLocks
  func writeHung(_ table: ThreadTable, limit: Int) -> SignalContext? {
    guard let record = table.find(exception.threadID), !record.status.isGone else { return nil }
    threads.write(record, limit: limit, as: .crashingThread)
    return record.has(.stopped) ? record.fields.context : nil
  }

  /// Writes the memory that a context's registers point at.
  @_noLocks
  func writeMemory(
    around context: SignalContext, _ registers: RegisterMemory, _ regions: MemoryWriter
  ) {
    output.startArray(.memory)
    // The instructions on both sides of the current one, at most in two pages.
    regions.writeRegion(context.instructionPointer &- 256, count: 512)
    registers.write(context.generalRegisters)
    output.end()
  }

  /// Writes the instructions alone, as far as they are a file's code.
  @_noLocks
  func writeCode(
    at context: SignalContext, in mappings: MappingTable, _ regions: MemoryWriter
  ) {
    let address = context.instructionPointer
    let index = mappings.index(endingAbove: address)
    guard index < mappings.count else { return }
    let mapping = mappings[index]
    guard mapping.start <= address, mapping.has(Mapping.isExecutable),
      !mapping.has(Mapping.isWritable), mappings.path(of: mapping)[0] == 0x2F  // "/"
    else { return }
    let start = address &- mapping.start < 256 ? mapping.start : address &- 256
    let end = mapping.end &- address < 256 ? mapping.end : address &+ 256
    output.startArray(.memory)
    regions.writeRegion(start, count: Int(truncatingIfNeeded: end &- start))
    output.end()
  }
}
