internal import IntermediateDump

extension ProcessSnapshot {
  /// Removes everything that may be a secret, before a report is made in any format.
  ///
  /// `ReportPrivacy.sanitized` describes what is removed.
  ///
  /// Stack walks find the same frames before and after this call. A second call changes nothing. Words of stacks are
  /// not replaced in this call, but when the memory is read.
  ///
  /// - Parameters:
  ///   - words: words that are kept, no matter where they point.
  ///   - tables: memory that holds unwind tables, which are kept, and the headers that lead to them.
  ///   - keepsObjects: true to keep the addresses, the reference counts and the metadata of the objects to which the
  ///     crashed thread's registers and the top of its stack point.
  package mutating func sanitize(
    keeping words: [Address] = [], tables: [AddressRange] = [], keepsObjects: Bool = true
  ) {
    // The filter below replaces words of the stack that `lastThrow` searches, so `lastThrow` is used first.
    recordedThrows = lastThrow.map { [$0] } ?? []
    let stacks = stackMemory
    let tasks = taskMemory(outside: stacks)
    let code = crashedCode(outside: stacks)
    let tables = tables.flatMap(stacks.gaps)
    let anyway = RangeSet(stacks.ranges + tasks + code + tables)
    let objects = keepsObjects ? KeptObjects(in: self, outside: anyway) : nil
    let metadata = RangeSet(objects?.metadata ?? []).ranges.flatMap(anyway.gaps)
    let filter = WordFilter(
      architecture,
      places: modules.map(\.range) + stacks.ranges + threads.compactMap(\.stackRange) + tasks
        + code + metadata,
      code: mappings.filter { $0.protection.contains(.execute) }.map(\.range),
      words: Set(words.map(\.value)).union(objects?.addresses ?? []))
    let kept =
      (stacks.ranges + tasks + metadata).flatMap(memory.regions(in:)).map {
        $0.sanitized(by: filter)
      } + (code + tables).flatMap(memory.regions(in:)) + (objects?.heads ?? [])
    memory = MemorySnapshot(joining: kept)
    for index in threads.indices { threads[index].sanitize(filter) }
    exception?.sanitize(filter)
    for index in recordedThrows.indices { recordedThrows[index].sanitize(filter) }
    allTasks?.sanitize(filter)
    leaveOutTexts()
    process.privacy = max(.sanitized, process.privacy ?? .full)
  }

  /// Removes texts that come from the program, such as annotations, and data that identifies a user or a machine.
  private mutating func leaveOutTexts() {
    client = ClientInformation()
    launchAnnotations = [:]
    addedAnnotations = [:]
    userStreams = []
    for index in modules.indices { modules[index].annotations = ModuleAnnotations() }
    cxxException?.message = nil
    for index in fileLocks.indices { fileLocks[index].holderName = nil }
    storedVerdict?.sanitize(request)
    request?.name = nil
    request?.reason = nil
    request?.errorText = nil
    request?.end?.sanitize()
    end?.sanitize()
    process.commandLine = nil
    process.statusText = process.statusText.map {
      UserNumbers.removed(fromStatus: Self.withoutNames($0))
    }
    leaveOutSurroundings()
  }

  /// Removes data that identifies a user or a machine.
  private mutating func leaveOutSurroundings() {
    system.hostName = nil
    system.timeZone = nil
    process.workingDirectory = nil
    process.auxiliaryVector = process.auxiliaryVector.map(UserNumbers.removed(fromVector:))
    for index in process.descriptors.indices { process.descriptors[index].leaveOutPath() }
  }

  /// Removes the lines with the names of threads from the text of `/proc/<pid>/status`.
  ///
  /// The text has two such lines if the main thread had ended, because the handler then appended another thread's text.
  private static func withoutNames(_ text: [UInt8]) -> [UInt8] {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return Array(
      lines.filter { !$0.starts(with: "Name:".utf8) }.joined(separator: [UInt8(ascii: "\n")]))
  }

  /// The address range of the instructions around the crash, if they were mapped from a file.
  private func crashedCode(outside stacks: RangeSet) -> [AddressRange] {
    guard let place = exception?.context?.instructionPointer,
      let mapping = mapping(containing: place), mapping.path.hasPrefix("/"),
      mapping.protection.contains(.execute), !mapping.protection.contains(.write)
    else { return [] }
    let window = AddressRange(
      from: place.clampedSubtracting(256), to: place.clampedAdding(256))
    return mapping.range.intersection(window).map(stacks.gaps) ?? []
  }
}

extension MemorySnapshot {
  /// The captured parts of an address range.
  package func regions(in range: AddressRange) -> [MemoryRegion] {
    guard let last = range.last else { return [] }
    let start = regions.partitioningIndex { !$0.range.ends(atOrBelow: range.start) }
    return regions[start...].prefix { $0.address <= last }.compactMap { $0.part(within: range) }
  }
}

// MARK: - Memory of tasks

extension ProcessSnapshot {
  /// The maximum number of stack words that are examined to find the memory of tasks.
  private static var wordLimit: Int { 1 << 24 }

  /// The memory of waiting asynchronous functions: each captured part outside the stacks that contains an async
  /// context.
  ///
  /// The contexts are found through words of stacks and registers, and through other contexts that point to them.
  ///
  /// A context begins with the address of the caller's context, followed by the code address at which the caller will
  /// continue.
  ///
  /// Source: swift include/swift/ABI/Task.h, class AsyncContext.
  private func taskMemory(outside stacks: RangeSet) -> [AddressRange] {
    guard !tasks.isEmpty else { return [] }
    let parts = RangeSet(memory.regions.flatMap { stacks.gaps(in: $0.range) })
    var found: Set<Int> = []
    var seen: Set<UInt64> = []
    func follow(_ word: UInt64) {
      var context = Address(word)
      while context.value & 7 == 0, let index = parts.index(of: context),
        seen.insert(context.value).inserted, let caller = memory.word(at: context),
        let resume = memory.word(at: context &+ 8), isCode(resume)
      {
        found.insert(index)
        context = Address(caller)
      }
    }
    var left = Self.wordLimit
    for thread in threads {
      for register in thread.context?.generalRegisters ?? [] { follow(register.value) }
      for region in thread.stack where left > 0 {
        region.forEachWord { word in
          left -= 1
          if parts.contains(Address(word)) { follow(word) }
          return left > 0
        }
      }
    }
    return found.sorted().map { parts.ranges[$0] }
  }

  private func isCode(_ word: UInt64) -> Bool {
    let address = Address(architecture == .arm64 ? word & 0x0000_FFFF_FFFF_FFFF : word)
    if let mapping = mapping(containing: address) { return mapping.protection.contains(.execute) }
    return mappings.isEmpty && module(containing: address) != nil
  }
}

extension MemoryRegion {
  /// Passes each aligned word of the region to a closure until the closure returns false.
  fileprivate func forEachWord(_ body: (UInt64) -> Bool) {
    var offset = Int(truncatingIfNeeded: (0 &- address.value) & 7)
    while count - offset >= 8 {
      let size = min(count - offset, 1 << 16) & ~7
      guard let slice = contents.slice(offset..<offset + size) else { return }
      for place in stride(from: 0, to: size, by: 8) {
        guard let word = slice.littleEndian(at: place, width: 8), body(word) else { return }
      }
      offset += size
    }
  }
}

// MARK: - Threads

extension ThreadSnapshot {
  fileprivate mutating func sanitize(_ filter: WordFilter) {
    name = nil
    stack = stack.map { $0.sanitized(by: filter) }
    context?.sanitize(filter)
    // Remove the arguments of the system call, because they are values of registers and may be secrets.
    systemCall = systemCall?.split(separator: " ").first.map(String.init)
  }
}

extension ThrowSnapshot {
  fileprivate mutating func sanitize(_ filter: WordFilter) {
    error = nil
    addresses = addresses.map { Address(filter.sanitized($0.value)) }
  }
}

extension AllTasks {
  fileprivate mutating func sanitize(_ filter: WordFilter) {
    for index in groups.indices {
      groups[index].frames = groups[index].frames.map(filter.sanitized)
      for record in groups[index].records.indices { groups[index].records[record].name = nil }
    }
  }
}

extension CPUContext {
  /// Replaces register values that the filter does not keep, except for the stack pointer, the instruction pointer,
  /// the flags and the segment registers; removes vector registers.
  ///
  /// The frame pointer is replaced too, unless the filter keeps its value, because code without frame pointers may
  /// have any value in this register.
  fileprivate mutating func sanitize(_ filter: WordFilter) {
    switch self {
    case .x86_64(var context):
      let registers: [WritableKeyPath<X86_64Context, UInt64>] = [
        \.rax, \.rbx, \.rcx, \.rdx, \.rsi, \.rdi, \.rbp, \.r8, \.r9, \.r10, \.r11, \.r12, \.r13,
        \.r14, \.r15,
      ]
      for register in registers {
        context[keyPath: register] = filter.sanitized(context[keyPath: register])
      }
      context.floatingPointState = []
      self = .x86_64(context)
    case .arm64(var context):
      context.x = context.x.map(filter.sanitized)
      context.vectorRegisters = []
      (context.fpsr, context.fpcr) = (0, 0)
      self = .arm64(context)
    }
  }
}

extension ExceptionSnapshot {
  fileprivate mutating func sanitize(_ filter: WordFilter) {
    context?.sanitize(filter)
    fatalMessage = fatalMessage.flatMap(KnownMessage.ofSwift)
    abortMessage = abortMessage.flatMap(KnownMessage.ofLibrary)
    senderName = nil
    // Removes the value that a sender may attach to a signal.
    if code ?? 0 <= 0, let information = signalInfo, information.count >= 32 {
      signalInfo = information[..<24] + Array(repeating: 0, count: 8) + information[32...]
    }
  }
}
