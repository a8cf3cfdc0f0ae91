internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MINIDUMP_THREAD_LIST, the contexts in front of it.
  ///
  /// Source: Microsoft minidumpapiset.h.
  mutating func encodeThreadList() -> MinidumpLocation {
    var contexts: [MinidumpLocation] = []
    for thread in threads {
      let context = encodeContext(
        thread.context, stackPointer: thread.stackPointer,
        instructionPointer: thread.instructionPointer)
      if crashedContext == nil, thread.id == snapshot.exception?.threadID {
        crashedContext = context
      }
      contexts.append(context)
    }
    buffer.align(to: 4)
    let start = buffer.count
    buffer.append(UInt32(truncatingIfNeeded: threads.count))
    for (thread, context) in zip(threads, contexts) {
      buffer.append(thread.id)
      // Suspend count; priority class, which is for Windows.
      buffer.appendZeros(8)
      buffer.append(ThreadPriority(thread).field)
      // The thread environment block: Crashpad puts the thread pointer there.
      buffer.append(thread.threadPointer ?? 0 as Address)
      appendStackDescriptor(of: thread)
      buffer.append(context)
    }
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: buffer.count - start), rva: UInt32(truncatingIfNeeded: start)
    )
  }

  /// MINIDUMP_MEMORY_DESCRIPTOR of the part of the stack that the stack pointer is in; its bytes
  /// are the memory list's.
  private mutating func appendStackDescriptor(of thread: ThreadSnapshot) {
    guard let stack = thread.stackAtPointer,
      let place = plan.location(of: stack.address, count: stack.bytes.count)
    else {
      buffer.append(thread.stackPointer ?? 0 as Address)
      buffer.append(MinidumpLocation.none)
      return
    }
    buffer.append(stack.address)
    buffer.append(UInt32(truncatingIfNeeded: place.count))
    buffer.appendMemoryReference(place.offset)
  }

  /// Appends a context, of which a thread that was not stopped has the two pointers only.
  ///
  /// - Returns: where it is; nowhere for a thread of which not even those are known, or readers
  ///   would show it at address 0.
  mutating func encodeContext(
    _ context: CPUContext?, stackPointer: Address?, instructionPointer: Address?
  ) -> MinidumpLocation {
    if context == nil, stackPointer == nil, instructionPointer == nil { return .none }
    // The FXSAVE area inside wants this alignment where a reader maps the file.
    buffer.align(to: 16)
    let start = buffer.count
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
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: buffer.count - start), rva: UInt32(truncatingIfNeeded: start)
    )
  }
}
