internal import IntermediateDump
package import ProcessSnapshot

/// Captured bytes near an address that matters for the crash.
package struct MemoryExcerpt: Sendable, Equatable {
  /// What the excerpt shows: "fault", "instructions", "stack", or the name of the register that points to the bytes.
  ///
  /// "fault" is memory at the faulting address, and "stack" is the top of the crashing thread's stack.
  package var about: String
  /// The address that the excerpt is about; it is within `range`.
  package var target: Address
  /// The address of the first byte.
  package var address: Address
  package var bytes: [UInt8]

  package var range: AddressRange {
    AddressRange(start: address, byteCount: UInt64(bytes.count))
  }
}

extension ProcessSnapshot {
  /// The registers at the signal, otherwise those of the crashed thread.
  private var crashedContext: CPUContext? { exception?.context ?? crashedThread?.context }

  /// Excerpts of captured memory at the faulting address, at the instruction pointer, at the top of the stack, and at
  /// the addresses in registers.
  package var memoryExcerpts: [MemoryExcerpt] {
    guard let context = crashedContext else { return [] }
    var found: [MemoryExcerpt] = []
    func add(_ about: String, _ target: Address?, before: UInt64, after: UInt64) {
      guard let target, let region = memory.region(containing: target),
        // Skip the address if another excerpt already shows it.
        !found.contains(where: { $0.range.contains(target) })
      else { return }
      let low = target.clampedSubtracting(before).alignedDown(to: 16)
      let wanted = AddressRange(from: low, through: target.clampedAdding(after &- 1))
      guard let shown = wanted.flatMap(region.range.intersection),
        let bytes = memory.bytes(at: shown.start, count: Int(clamping: shown.byteCount))
      else { return }
      found.append(
        MemoryExcerpt(about: about, target: target, address: shown.start, bytes: Array(bytes)))
    }
    if request == nil { add("fault", exception?.address, before: 64, after: 128) }
    add("instructions", context.instructionPointer, before: 32, after: 64)
    add("stack", context.stackPointer, before: 0, after: 256)
    for register in context.generalRegisters {
      add(register.name, Address(register.value), before: 16, after: 64)
    }
    return found
  }

  /// The maximum number of mappings that a report lists; by default, a program can have 65,530 (`vm.max_map_count`).
  private static let maximumMappings = 4096

  /// The mappings that a report lists.
  ///
  /// If there are more than `maximumMappings` mappings, the list contains those near the faulting address, the
  /// instruction pointer and the top of the stack, and otherwise the lowest ones.
  ///
  /// - Returns: the mappings, sorted by address, and the number of mappings that are left out.
  package var listedMappings: (mappings: [MemoryMapping], omitted: Int) {
    guard mappings.count > Self.maximumMappings else { return (mappings, 0) }
    let context = crashedContext
    let marks = [exception?.address, context?.instructionPointer, context?.stackPointer]
    let reach = Self.maximumMappings / 8
    var kept = Set<Int>()
    for case let mark? in marks {
      let index = mappings.firstIndex { !$0.range.ends(atOrBelow: mark) } ?? mappings.count
      kept.formUnion(max(0, index - reach)..<min(mappings.count, index + reach))
    }
    for index in mappings.indices {
      guard kept.count < Self.maximumMappings else { break }
      kept.insert(index)
    }
    return (kept.sorted().map { mappings[$0] }, mappings.count - kept.count)
  }
}
