internal import ProcessSnapshot

/// What a context in a minidump says of a thread.
struct DecodedContext {
  /// Nil where only the pointers, or nothing, is marked as there.
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
  /// MINIDUMP_THREAD_LIST; a stack that is a whole region of the memory list shares its bytes.
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
      let decoded = file.location(at: entry + 40).map { decodeContext($0) } ?? DecodedContext()
      thread.context = decoded.context
      thread.stackPointer = decoded.stackPointer
      thread.instructionPointer = decoded.instructionPointer
      if let address = file.integer(at: entry + 24, width: 8),
        let size = file.integer(at: entry + 32, width: 4),
        let region = regions[Address(address)], UInt64(region.bytes.count) == size
      {
        thread.stack = [region]
      } else if let region = region(at: entry + 24, in: "thread list") {
        thread.stack = [region]
      }
      snapshot.threads.append(thread)
    }
  }

  /// Reads a context in the layout of the dump's processor.
  func decodeContext(_ range: Range<Int>) -> DecodedContext {
    let bytes = file.bytes[range]
    switch snapshot.architecture {
    case .x86_64: return Self.decodeAMD64Context(bytes)
    case .arm64: return Self.decodeARM64Context(bytes)
    }
  }

  /// MINIDUMP_THREAD_NAME_LIST; an empty name is none.
  mutating func decodeThreadNames() {
    var names: [UInt32: String] = [:]
    for entry in file.entries(of: .threadNames, size: MinidumpFormat.threadNameSize) {
      guard let id = file.integer(at: entry, width: 4),
        let rva = file.integer(at: entry + 4, width: 8), rva <= UInt64(file.bytes.count)
      else { continue }
      guard let name = file.string(at: rva) else {
        file.note("a thread's name is damaged")
        continue
      }
      if !name.isEmpty { names[UInt32(truncatingIfNeeded: id)] = name }
    }
    for index in snapshot.threads.indices {
      snapshot.threads[index].name = names[snapshot.threads[index].id]
    }
  }
}
