internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes the threads' contexts, then MINIDUMP_THREAD_LIST.
  ///
  /// Source: Microsoft minidumpapiset.h.
  mutating func encodeThreadList() -> MinidumpLocation {
    var entries: [(thread: ThreadSnapshot, context: MinidumpLocation)] = []
    for thread in threads {
      let context = encodeContext(
        thread.context, stackPointer: thread.stackPointer,
        instructionPointer: thread.instructionPointer)
      if crashedContext == nil, thread.id == snapshot.exception?.threadID {
        crashedContext = context
      }
      entries.append((thread, context))
    }
    let plan = plan
    return buffer.appendList(entries) { buffer, entry in
      let thread = entry.thread
      buffer.append(thread.id)
      // The suspend count and the priority class, which Linux does not have, are zero.
      buffer.appendZeros(8)
      buffer.append(ThreadPriority(thread).field)
      // The address of the thread environment block; on Linux, Crashpad stores the thread pointer here.
      buffer.append(thread.threadPointer ?? 0 as Address)
      // The part of the stack that contains the stack pointer; its bytes are shared with the memory list.
      if let stack = thread.stackAtPointer,
        let place = plan.location(of: stack.address, count: stack.count)
      {
        buffer.append(stack.address)
        buffer.append(UInt32(truncatingIfNeeded: place.count))
        buffer.appendMemoryReference(place.offset)
      } else {
        buffer.append(thread.stackPointer ?? 0 as Address)
        buffer.append(MinidumpLocation.none)
      }
      buffer.append(entry.context)
    }
  }

  /// Appends a thread context, which has only the instruction and stack pointers if no other registers are known.
  ///
  /// - Returns: the location of the context; an empty location if neither registers nor pointers are known, because
  ///   readers would otherwise show the thread at address 0.
  mutating func encodeContext(
    _ context: CPUContext?, stackPointer: Address?, instructionPointer: Address?
  ) -> MinidumpLocation {
    if context == nil, stackPointer == nil, instructionPointer == nil { return .none }
    // The FXSAVE area in the context needs this alignment if a reader maps the file.
    buffer.align(to: 16)
    let start = buffer.rva
    switch context {
    case .x86_64(let registers)?:
      appendAMD64Context(registers, flags: Self.flags(of: registers))
    case .arm64(let registers)?:
      appendARM64Context(registers, flags: Self.flags(of: registers))
    case nil:
      switch snapshot.architecture {
      case .x86_64:
        var registers = X86_64Context()
        registers.rsp = stackPointer?.value ?? 0
        registers.rip = instructionPointer?.value ?? 0
        appendAMD64Context(registers, flags: MinidumpFormat.amd64Control)
      case .arm64:
        var registers = ARM64Context()
        registers.sp = stackPointer?.value ?? 0
        registers.pc = instructionPointer?.value ?? 0
        appendARM64Context(registers, flags: MinidumpFormat.arm64Control)
      }
    }
    return buffer.location(from: start)
  }
}

/// The registers of a thread, read from a thread context in a minidump.
struct DecodedContext {
  /// The registers; nil if the context contains only the stack pointer and the instruction pointer, or nothing that can
  /// be used.
  var context: CPUContext?
  var stackPointer: Address?
  var instructionPointer: Address?

  init() {}

  init(_ context: CPUContext) {
    self.context = context
    stackPointer = context.stackPointer
    instructionPointer = context.instructionPointer
  }
}

extension MinidumpDecoder {
  /// Reads MINIDUMP_THREAD_LIST; if a stack is also a complete region of the memory list, both share their bytes.
  mutating func decodeThreadList(listed: [MemoryRegion]) {
    var regions: [Address: MemoryRegion] = [:]
    for region in listed { regions[region.address] = region }
    for entry in file.entries(of: .threadList, size: MinidumpFormat.threadSize) {
      guard let id = file.integer(at: entry, width: 4) else { break }
      var thread = ThreadSnapshot(id: UInt32(truncatingIfNeeded: id))
      if let block = file.integer(at: entry + 16, width: 8), block != 0 {
        thread.threadPointer = Address(block)
      }
      if let field = file.integer(at: entry + 12, width: 4) {
        let priority = ThreadPriority(field: UInt32(truncatingIfNeeded: field))
        (thread.schedulingPolicy, thread.niceValue) = (priority.policy, priority.niceValue)
      }
      let decoded = context(at: entry + 40)
      thread.context = decoded.context
      thread.stackPointer = decoded.stackPointer
      thread.instructionPointer = decoded.instructionPointer
      if let address = file.integer(at: entry + 24, width: 8),
        let size = file.integer(at: entry + 32, width: 4),
        let region = regions[Address(address)], UInt64(region.count) == size
      {
        thread.stack = [region]
      } else if let region = region(at: entry + 24, in: "thread list") {
        thread.stack = [region]
      }
      snapshot.threads.append(thread)
    }
  }

  /// Reads the context that a location descriptor refers to, in the layout of the dump's processor.
  func context(at location: Int) -> DecodedContext {
    let bytes = file.location(at: location).flatMap(file.bytes.slice) ?? []
    switch snapshot.architecture {
    case .x86_64: return Self.decodeAMD64Context(bytes)
    case .arm64: return Self.decodeARM64Context(bytes)
    }
  }
}

/// The priority field of MINIDUMP_THREAD, as Crashpad fills it on Linux.
///
/// From the lowest up, the field's four bytes are 20 minus the nice value, the rank of the scheduling policy, the
/// static priority of a real-time thread, and 0. The static priority is not captured, so its byte is 0 too.
///
/// Source: Crashpad `snapshot/linux/thread_snapshot_linux.cc`.
struct ThreadPriority {
  /// The policy, as in sched_getscheduler(2).
  let policy: UInt8?
  let niceValue: Int32?

  /// The policies by rank, lowest first: idle, batch, other, round robin, FIFO.
  private static let ranked: [UInt8] = [5, 3, 0, 2, 1]

  init(_ thread: ThreadSnapshot) {
    policy = thread.schedulingPolicy
    niceValue = thread.niceValue
  }

  /// Reads the priority field of a MINIDUMP_THREAD; both values are nil if the field is 0 or holds another system's
  /// priority.
  init(field: UInt32) {
    let rank = Int(field >> 8 & 0xFF)
    guard (1...Self.ranked.count).contains(rank), field >> 16 <= 99 else {
      (policy, niceValue) = (nil, nil)
      return
    }
    policy = Self.ranked[rank - 1]
    let byte = Int(field & 0xFF)
    niceValue = (1...40).contains(byte) ? Int32(truncatingIfNeeded: 20 - byte) : nil
  }

  var field: UInt32 {
    guard let policy, let rank = Self.ranked.firstIndex(of: policy) else { return 0 }
    let nice = niceValue.map { (-20...19).contains($0) ? 20 - Int($0) : 0 } ?? 0
    return UInt32(truncatingIfNeeded: (rank + 1) << 8 | nice)
  }
}
