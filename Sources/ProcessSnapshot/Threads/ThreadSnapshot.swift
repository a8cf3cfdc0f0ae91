public import IntermediateDump

/// One thread of the process, as it was at the crash or, in a dump without a crash, when the dump was taken.
public struct ThreadSnapshot: Sendable, Equatable {
  public typealias CaptureMethod = IntermediateDump.CaptureMethod

  /// The kernel's thread ID.
  public var id: UInt32
  public var name: String?
  /// The thread's state before the handler stopped it, as in proc(5); for example, R running, S sleeping, D in
  /// uninterruptible sleep, T stopped.
  public var state: Character?
  public var captureMethod: CaptureMethod?
  /// The registers; nil if they were not captured, for example because the handler could not stop the thread.
  ///
  /// For a thread that did not stop, the kernel shows only `stackPointer` and `instructionPointer`.
  public var context: CPUContext?
  /// The address of the thread control block: the `fs` base on x86_64, `tpidr_el0` on arm64.
  public var threadPointer: Address?
  public var stackPointer: Address?
  public var instructionPointer: Address?
  /// The signals that the thread blocked; bit n - 1 stands for signal n.
  public var blockedSignals: UInt64?
  /// The policy in the numbering of sched_getscheduler(2); see `SchedulingPolicy`.
  public var schedulingPolicy: UInt8?
  /// The nice value of getpriority(2), from -20 to 19.
  public var niceValue: Int32?
  /// The CPU time in nanoseconds that the thread had used in user mode and in the kernel.
  ///
  /// The time is known only for the thread that wrote the dump or, in the snapshot of a core file, for the thread that
  /// crashed.
  public var processorTime: UInt64?
  /// The system call in which the thread was blocked, in the format of proc_pid_syscall(5).
  ///
  /// If the arguments are not known, the text is only the number of the system call.
  public var systemCall: String?
  /// The mapping that contains the stack pointer, or the next readable mapping above the stack pointer.
  ///
  /// If this mapping also contains the stack of another thread below the stack pointer, the range begins above that
  /// stack.
  public var stackRange: AddressRange?
  /// The captured parts of the stack; the snapshot's `memory` contains their bytes too.
  public var stack: [MemoryRegion] = []
  /// The number of bytes between the stack pointer and the end of the stack that were left out because of a limit.
  public var stackBytesOmitted: UInt64 = 0
  /// The frames that were found before the stack's memory was removed; nil if the snapshot has this memory.
  package var storedStack: StoredStack?

  public init(id: UInt32) {
    self.id = id
  }

  /// The name of the scheduling policy in reports; nil if the policy is not known.
  package var policyWord: String? {
    schedulingPolicy.flatMap(SchedulingPolicy.init(rawValue:))?.word
  }

  /// The number of the system call that the thread was blocked in; nil if there was no such call or it is not known.
  ///
  /// Source: proc_pid_syscall(5).
  ///
  /// The kernel shows `-1` for a thread that is blocked but not in a system call, and `running` for a thread that is
  /// not blocked.
  public var systemCallNumber: Int? {
    guard let word = systemCall?.split(separator: " ").first, let number = Int(word), number >= 0
    else { return nil }
    return number
  }
}

extension ThreadSnapshot {
  /// Reads a `thread` or `crashingThread` map.
  ///
  /// - Parameter id: the thread's ID, which the map may lack.
  init(
    reading map: IntermediateDumpMap, id: UInt32, architecture: ProcessSnapshot.Architecture,
    memory: inout DumpMemory
  ) {
    self.init(id: id)
    Self.mapFields.read(map, into: &self)
    context = CPUContext(
      architecture: architecture, generalRegisters: map.data(.generalRegisters),
      floatingPointState: map.data(.floatingPointState))
    stackPointer = stackPointer ?? context?.stackPointer
    instructionPointer = instructionPointer ?? context?.instructionPointer
    // The handler writes a stack in chunks. Adjacent chunks are read as one piece again. The handler writes the top
    // of the crashing thread's stack before it knows the bounds of the stack, so this piece is cut at these bounds, and
    // left out if it is elsewhere. Any other piece elsewhere is of the stack that a handler has interrupted.
    let pieces = MemorySnapshot(
      joining: map.elements(.stack).compactMap { memory.region($0) }
        + (stackPointer.map { StackWords(in: map, from: $0).regions } ?? []))
    stack = pieces.regions.compactMap { piece in
      guard let stackRange else { return piece }
      let isTop = stackPointer.map(piece.range.contains) ?? true
      return piece.part(within: stackRange) ?? (isTop ? nil : piece)
    }
  }

  /// Writes a map from which the same thread can be read.
  ///
  /// For the captured parts of the stack, the map contains addresses and sizes but not the bytes.
  ///
  /// - Parameter extendedStateLeft: the number of bytes of XSAVE areas that may still be written. If an area does not
  ///   fit, only its first 512 bytes are written.
  func write(
    as key: IntermediateDumpKey, extendedStateLeft: inout Int,
    to writer: inout IntermediateDumpWriter
  ) {
    writer.startMap(key)
    Self.mapFields.write(self, to: &writer)
    writer.write(.generalRegisters, context?.generalRegisterBytes)
    if var area = context?.floatingPointBytes {
      if area.count > extendedStateLeft {
        area = Array(area.prefix(X86_64Context.legacyAreaSize))
      } else {
        extendedStateLeft -= area.count
      }
      writer.write(.floatingPointState, area)
    }
    writer.array(
      .stack, of: .memoryRegion,
      stack.map {
        ClientInformation.ExtraMemoryRange(address: $0.address, size: UInt64($0.count))
      }, ClientInformation.ExtraMemoryRange.mapFields)
    writer.end()
  }
}

extension ThreadSnapshot {
  /// Binds the keys of all facts of a thread except its registers and its stack.
  package static let mapFields = MapFields(
    ThreadSnapshot(id: 0),
    [
      .required(.threadID, \.id),
      Field(.threadName, [.text]) { map, thread in
        guard let name = map.data(.threadName), !name.isEmpty else { return false }
        thread.name = String(decoding: name, as: UTF8.self)
        return true
      } write: { thread, writer in
        writer.write(.threadName, thread.name)
      }.showing { $0.name.map { .text($0) } },
      Field(.threadState, [.unsigned], size: 1) { map, thread in
        guard let letter: UInt8 = map[.threadState], letter > 0x20, letter < 0x7F else {
          return false
        }
        thread.state = Character(Unicode.Scalar(letter))
        return true
      } write: { thread, writer in
        writer.write(.threadState, thread.state?.asciiValue)
      }.showing { $0.state.map { .text(String($0)) } },
      .optional(.captureMethod, \.captureMethod),
      .optional(.threadPointer, \.threadPointer),
      .optional(.threadStackPointer, \.stackPointer),
      .optional(.threadInstructionPointer, \.instructionPointer),
      .optional(.blockedSignals, \.blockedSignals),
      Field.optional(.schedulingPolicy, \.schedulingPolicy).showing { thread in
        thread.policyWord.map { .text($0) }
      },
      .optional(.niceValue, \.niceValue),
      .optional(.threadProcessorTime, \.processorTime),
      .optional(.systemCall, \.systemCall),
      Field(.stackRegionStart, [.address], size: 8) { map, thread in
        guard let start: Address = map[.stackRegionStart],
          let end: Address = map[.stackRegionEnd], start < end
        else { return false }
        thread.stackRange = AddressRange(from: start, to: end)
        return true
      } write: { thread, writer in
        writer.write(.stackRegionStart, thread.stackRange?.start)
        writer.write(.stackRegionEnd, thread.stackRange?.clampedEnd)
      },
      .value(.stackBytesOmitted, \.stackBytesOmitted),
      .optional(.threadFrames, \.storedStack),
    ])
}
