internal import ProcessSnapshot

extension CrashReport.Memory {
  /// The memory around the fault: at its address, at the instruction, on top of the stack, and where
  /// registers point; each as far as it was captured.
  static func selection(_ snapshot: ProcessSnapshot) -> [Self] {
    guard let context = snapshot.exception?.context ?? snapshot.crashedThread?.context else {
      return []
    }
    var found: [Self] = []
    func add(_ about: String, _ target: Address?, before: UInt64, behind: UInt64) {
      guard let target, let region = snapshot.memory.region(containing: target),
        // What is shown already says nothing new.
        !found.contains(where: { $0.covers(target) })
      else { return }
      let low = target.clampedSubtracting(before).alignedDown(to: 16)
      let wanted = AddressRange(from: low, through: target.clampedAdding(behind &- 1))
      guard let shown = wanted.flatMap(region.range.intersection),
        let bytes = snapshot.memory.bytes(at: shown.start, count: Int(clamping: shown.byteCount))
      else { return }
      found.append(
        Self(
          about: about, target: target.hex, address: shown.start.hex,
          bytes: Array(bytes).hexadecimal))
    }
    if snapshot.request == nil {
      add("fault", snapshot.exception?.address, before: 64, behind: 128)
    }
    add("instructions", context.instructionPointer, before: 32, behind: 64)
    add("stack", context.stackPointer, before: 0, behind: 256)
    for register in context.generalRegisters {
      add(register.name, Address(register.value), before: 16, behind: 64)
    }
    return found
  }

  private func covers(_ other: Address) -> Bool {
    AddressRange(start: address.address, byteCount: UInt64(bytes.utf8.count / 2)).contains(other)
  }
}

extension CrashReport.Mapping {
  /// More than these are not kept: a program near `vm.max_map_count` has 65,530.
  private static let maximumCount = 4096

  /// All mappings; of very many the lowest, and those near the fault, the instruction and the top
  /// of the stack.
  ///
  /// - Returns: what is kept, and how many are not.
  static func selection(_ snapshot: ProcessSnapshot) -> (kept: [Self], omitted: Int) {
    let mappings = snapshot.mappings
    guard mappings.count > maximumCount else { return (mappings.map(Self.init), 0) }
    let context = snapshot.exception?.context ?? snapshot.crashedThread?.context
    let marks = [
      snapshot.exception?.address, context?.instructionPointer, context?.stackPointer,
    ]
    let reach = maximumCount / 8
    var kept = Set<Int>()
    for case let mark? in marks {
      let index = mappings.firstIndex { !$0.range.ends(atOrBelow: mark) } ?? mappings.count
      kept.formUnion(max(0, index - reach)..<min(mappings.count, index + reach))
    }
    for index in mappings.indices {
      guard kept.count < maximumCount else { break }
      kept.insert(index)
    }
    return (kept.sorted().map { Self(mappings[$0]) }, mappings.count - kept.count)
  }

  init(_ mapping: MemoryMapping) {
    start = mapping.start.hex
    end = mapping.range.clampedEnd.hex
    protection =
      (mapping.protection.contains(.read) ? "r" : "-")
      + (mapping.protection.contains(.write) ? "w" : "-")
      + (mapping.protection.contains(.execute) ? "x" : "-")
    path = mapping.path.isEmpty ? nil : mapping.path
  }
}
