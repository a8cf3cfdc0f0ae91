internal import ProcessSnapshot

extension CrashReport.Memory {
  /// The memory around the fault: at its address, at the instruction, on top of the stack, and where
  /// registers point; each as far as it was captured.
  static func selection(_ snapshot: ProcessSnapshot) -> [Self] {
    guard let context = snapshot.exception?.context ?? snapshot.crashedThread?.context else {
      return []
    }
    var found: [Self] = []
    func add(_ about: String, _ target: UInt64?, before: UInt64, behind: UInt64) {
      guard let target, let region = snapshot.memory.region(containing: target),
        // What is shown already says nothing new.
        !found.contains(where: { $0.covers(target) })
      else { return }
      let low = max(region.address, target > before ? (target - before) & ~15 : 0)
      let high = min(region.end, target.addingReportingOverflow(behind).partialValue)
      guard low <= target, high > target,
        let bytes = snapshot.memory.bytes(at: low, count: Int(high - low))
      else { return }
      found.append(
        Self(
          about: about, target: HexAddress(target), address: HexAddress(low),
          bytes: Array(bytes).hexadecimal))
    }
    if snapshot.request == nil {
      add("fault", snapshot.exception?.address, before: 64, behind: 128)
    }
    add("instructions", context.instructionPointer, before: 32, behind: 64)
    add("stack", context.stackPointer, before: 0, behind: 256)
    for register in context.generalRegisters {
      add(register.name, register.value, before: 16, behind: 64)
    }
    return found
  }

  private func covers(_ other: UInt64) -> Bool {
    other >= address.value && other - address.value < UInt64(bytes.utf8.count / 2)
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
      let index = mappings.firstIndex { $0.end > mark } ?? mappings.count
      kept.formUnion(max(0, index - reach)..<min(mappings.count, index + reach))
    }
    for index in mappings.indices {
      guard kept.count < maximumCount else { break }
      kept.insert(index)
    }
    return (kept.sorted().map { Self(mappings[$0]) }, mappings.count - kept.count)
  }

  init(_ mapping: MemoryMapping) {
    start = HexAddress(mapping.start)
    end = HexAddress(mapping.end)
    protection =
      (mapping.protection.contains(.read) ? "r" : "-")
      + (mapping.protection.contains(.write) ? "w" : "-")
      + (mapping.protection.contains(.execute) ? "x" : "-")
    path = mapping.path.isEmpty ? nil : mapping.path
  }
}
