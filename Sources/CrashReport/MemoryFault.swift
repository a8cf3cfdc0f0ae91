internal import ProcessSnapshot

/// Explains a SIGSEGV that the processor raised.
struct MemoryFault {
  let exception: ExceptionSnapshot
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]
  var thread: CrashReport.Thread?

  /// Addresses below this are never mapped: /proc/sys/vm/mmap_min_addr is 64 KiB almost everywhere.
  private static let nullPageEnd: Address = 0x1_0000
  /// How far below the stack a fault may lie and still be its overflow; guards are a page to 1 MiB.
  private static let guardSize: UInt64 = 1 << 20

  /// How far below the stack pointer a signal's frame may reach: the red zone and what AT_MINSIGSTKSZ
  /// says, which is 11 KiB with the largest registers of x86_64.
  private static let signalFrameSize: UInt64 = 16 << 10
  /// Source: Intel SDM volume 3, 6.15, interrupt 13 (#GP).
  private static let generalProtectionTrap: UInt64 = 13

  private var access: MemoryAccess? { MemoryAccess(exception) }

  private var verb: String {
    switch access {
    case .read: "A read of"
    case .write: "A write to"
    case .execute: "A jump or call to"
    case nil: "An access to"
    }
  }

  var finding: Finding? {
    guard var finding = bareFinding else { return nil }
    if let allocator = allocatorFunction {
      finding.text +=
        " It happened inside the memory allocator (\(allocator)), whose heap was most likely damaged"
        + " before: by a write past the end of a block, or to one that had been freed."
      finding.evidence.append("\(allocator) is among the innermost frames")
    }
    return finding
  }

  private var bareFinding: Finding? {
    let fact = snapshot.signalFact + accessFact
    // SI_KERNEL: a general protection fault, for which the kernel knows no address, or no fault.
    if exception.code == 0x80 {
      if let overflow = overflowBySignal {
        return Finding(
          kind: "stack-overflow", text: overflow.text, evidence: fact + overflow.evidence)
      }
      return generalProtection.map {
        Finding(
          kind: "general-protection", certainty: .likely, text: $0,
          evidence: fact + impossiblePointers.map { "\($0.name) \(HexAddress($0.value))" })
      }
    }
    guard let address = exception.address else { return nil }
    if let overflow = stackOverflow(address) {
      return Finding(
        kind: "stack-overflow", text: overflow.text, evidence: fact + overflow.evidence)
    }
    let place = address
    if address < Self.nullPageEnd {
      return Finding(
        kind: access == .execute ? "null-call" : "null-dereference", text: nullAccess(address),
        evidence: fact)
    }
    if snapshot.architecture == .x86_64, !Self.isCanonical(address.value) {
      return Finding(
        kind: "impossible-address",
        text: "\(verb) \(place), which is no possible address of a user process: the pointer is"
          + " not one, or was overwritten.", evidence: fact)
    }
    if let mapping = snapshot.mapping(containing: address) {
      return protected(address, mapping).map { text in
        let isData = access == .execute && !mapping.protection.contains(.execute)
        return Finding(
          kind: isData ? "executed-data" : "protected-memory", text: text,
          evidence: fact + ["mapping \(Self.describe(mapping))"])
      }
    }
    guard !snapshot.mappings.isEmpty else { return nil }
    return Finding(
      kind: "unmapped-memory",
      text: "\(verb) \(place), where nothing is mapped.\(neighbours(of: address))",
      evidence: fact + ["no mapping holds the address"])
  }

  private var accessFact: [String] {
    guard exception.trapNumber == 14, let error = exception.trapErrorCode, let access else {
      return []
    }
    return ["page-fault error code \(HexAddress(error)): \(access.rawValue)"]
  }

  /// A function of the C library's allocator among the innermost frames.
  private var allocatorFunction: String? {
    let names: Set = [
      "malloc", "free", "calloc", "realloc", "_int_malloc", "_int_free", "_int_realloc",
      "malloc_consolidate", "unlink_chunk", "unlink_chunk.isra.0", "tcache_get", "tcache_put",
      "__libc_malloc", "__libc_free", "cfree", "_int_free_merge_chunk", "sysmalloc",
    ]
    return frames.prefix(4).compactMap(\.symbol).first(where: names.contains)
  }

  /// True where the stack was full.
  var isStackOverflow: Bool {
    exception.code == 0x80
      ? overflowBySignal != nil : exception.address.flatMap(stackOverflow) != nil
  }

  private func nullAccess(_ address: Address) -> String {
    if access == .execute {
      return address == 0
        ? "A call or jump through a null function pointer."
        : "A call or jump to \(address), near null."
    }
    if address == 0 { return "\(verb) address 0: a null pointer was dereferenced." }
    return "\(verb) \(address): a null pointer was dereferenced at an offset of"
      + " \(address.value) bytes."
  }

  /// True for user and kernel addresses of 48 bits.
  static func isCanonical(_ address: UInt64) -> Bool {
    let high = address >> 47
    return high == 0 || high == 0x1_FFFF
  }

  private var impossiblePointers: [(name: String, value: UInt64)] {
    guard let context = exception.context else { return [] }
    return context.generalRegisters.filter { !Self.isCanonical($0.value) }
      .map { (name: $0.name, value: $0.value) }
  }

  private var generalProtection: String? {
    guard snapshot.architecture == .x86_64, exception.context != nil,
      exception.trapNumber ?? Self.generalProtectionTrap == Self.generalProtectionTrap
    else { return nil }
    let suspects = impossiblePointers
    let head = "A general protection fault, for which the processor gives no address."
    guard !suspects.isEmpty else { return head }
    let list = suspects.map { "\($0.name) \(HexAddress($0.value))" }.joined(separator: ", ")
    return head + " It is what the use of a non-canonical address causes; these registers hold"
      + " values that are no possible addresses: \(list)."
  }

  private func protected(_ address: Address, _ mapping: MemoryMapping) -> String? {
    let protection = mapping.protection
    let place = "\(address) in \(Self.describe(mapping))"
    if protection.isEmpty { return "\(verb) \(place), which allows no access at all." }
    switch access {
    case .write where !protection.contains(.write):
      return "A write to \(place), which is not writable."
    case .execute where !protection.contains(.execute):
      return "A jump or call to \(place), which is not executable."
    case .read where !protection.contains(.read):
      return "A read of \(place), which is not readable."
    case nil: return "An access to \(place), which does not allow it."
    default:
      // The mapping allows it, so it changed after the fault, or a protection key forbade it.
      return exception.code == 4
        ? "\(verb) \(place), which a protection key forbids."
        : "\(verb) \(place), which allows it now: it may have been changed after the fault."
    }
  }

  private func neighbours(of address: Address) -> String {
    var text = ""
    if let below = snapshot.mappings.last(where: { $0.range.ends(atOrBelow: address) }),
      let distance = below.range.end.flatMap({ address.distance(above: $0) })
    {
      text +=
        " The next mapping below ends \(Self.distance(distance)) before it:"
        + " \(Self.describe(below))."
    }
    if let above = snapshot.mappings.first(where: { $0.start > address }),
      let distance = above.start.distance(above: address)
    {
      text +=
        " The next above starts \(Self.distance(distance)) behind it:"
        + " \(Self.describe(above))."
    }
    return text
  }

  /// A fault close to the stack pointer, right below the memory of the stack.
  private func stackOverflow(_ address: Address) -> (text: String, evidence: [String])? {
    guard let stackPointer = exception.context?.stackPointer,
      let stack = snapshot.crashedThread?.stackRange,
      let below = stack.start.distance(above: address), below > 0, access != .execute
    else { return nil }
    // The red zone and a push lie below the stack pointer, everything else of a frame above it.
    let lowest = stackPointer.clampedSubtracting(512)
    let isInGuard =
      snapshot.mapping(containing: address).map {
        $0.protection.isEmpty && $0.range.end == stack.start
      } ?? false
    // A frame larger than any guard: the frame pointer is still in the stack, the stack pointer no
    // more.
    let framePointer = exception.context?.framePointer ?? 0
    let frameSize =
      stackPointer < stack.start && stack.contains(framePointer)
      ? framePointer.distance(above: stackPointer) : nil
    guard address >= lowest, below <= Self.guardSize || isInGuard || frameSize != nil,
      stackPointer < stack.start.clampedAdding(Self.guardSize)
    else { return nil }
    var text =
      "The stack overflowed: the address \(address) lies"
      + " \(Self.distance(below)) below the stack"
      + " (\(stack), \(Self.distance(stack.byteCount))) and next to the stack pointer"
      + " \(stackPointer)\(isInGuard ? ", in its guard" : "")."
    if let frameSize, below > Self.guardSize {
      text += " The innermost frame alone is \(Self.distance(frameSize)) large."
    }
    let depth = self.depth
    if let depth { text += " \(depth.text)" }
    if let recursion { text += " \(recursion)" }
    return (text, stackEvidence(stack, stackPointer) + (depth?.evidence ?? []))
  }

  /// No fault of an instruction: a signal came whose frame did not fit on the stack, and the kernel sent SIGSEGV in its place.
  ///
  /// It happens between the instruction that moves the stack pointer and the one that would fault. Source: Linux
  /// kernel/signal.c, signal_setup_done and force_sigsegv.
  private var overflowBySignal: (text: String, evidence: [String])? {
    // Of a dump that does not say which trap it was, a fault is more likely.
    guard
      snapshot.architecture != .x86_64
        || exception.trapNumber.map({ $0 != Self.generalProtectionTrap }) == true,
      let stackPointer = exception.context?.stackPointer,
      let stack = snapshot.crashedThread?.stackRange, !stack.ends(atOrBelow: stackPointer),
      stackPointer < stack.start.clampedAdding(Self.signalFrameSize),
      // In other memory that can be written there is room.
      stack.contains(stackPointer)
        || snapshot.mapping(containing: stackPointer)?.protection.contains(.write) != true
    else { return nil }
    let place =
      stackPointer.distance(above: stack.start).map { "\(Self.distance($0)) above the end of" }
      ?? "\(Self.distance(stack.start.wrappedDistance(above: stackPointer))) below"
    var text =
      "The stack overflowed: a signal came, and the kernel had no room to deliver it. The stack pointer"
      + " \(stackPointer) lies \(place) the stack (\(stack), \(Self.distance(stack.byteCount)))."
    let depth = self.depth
    if let depth { text += " \(depth.text)" }
    if let recursion { text += " \(recursion)" }
    return (text, stackEvidence(stack, stackPointer) + (depth?.evidence ?? []))
  }

  private func stackEvidence(_ stack: AddressRange, _ stackPointer: Address) -> [String] {
    [
      "stack \(stack)",
      "stack pointer \(stackPointer)",
    ]
  }

  /// How many calls are on the stack, and what it may grow to.
  private var depth: (text: String, evidence: [String])? {
    var parts: [String] = []
    var evidence: [String] = []
    if let thread, !thread.frames.isEmpty {
      let walked = thread.frames.count { $0.inlined != true } + thread.framesOmitted
      let gap = min(thread.recursion?.estimatedInGap ?? 0, 1 << 40)
      let isWhole = thread.stackEnd == "bottom" && (!thread.stackGap || gap > 0)
      parts.append(
        "\(gap > 0 ? "about " : isWhole ? "" : "at least ")\(walked + gap) calls are on it")
      evidence.append("\(walked) frames found" + (gap > 0 ? ", \(gap) estimated" : ""))
    }
    // Of another thread the mapping is the limit.
    if exception.threadID == snapshot.process.processID,
      let limit = snapshot.process.limits?.stackSize?.soft
    {
      parts.append("the main thread's may grow to \(Self.distance(limit)) (RLIMIT_STACK)")
      evidence.append("RLIMIT_STACK \(limit)")
    }
    guard let first = parts.first else { return nil }
    let sentence = ([first.prefix(1).uppercased() + first.dropFirst()] + parts.dropFirst())
    return (sentence.joined(separator: "; ") + ".", evidence)
  }

  /// The function that most of the innermost frames are in, if there is such a one.
  private var recursion: String? {
    let names = frames.prefix(64).compactMap(\.function)
    var counts: [String: Int] = [:]
    for name in names { counts[name, default: 0] += 1 }
    guard let most = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), most.value >= 8
    else { return nil }
    return "\(FunctionName.short(most.key)) is in \(most.value) of the innermost"
      + " \(min(frames.count, 64)) frames."
  }

  static func describe(_ mapping: MemoryMapping) -> String {
    let protection = mapping.protection
    let letters =
      (protection.contains(.read) ? "r" : "-") + (protection.contains(.write) ? "w" : "-")
      + (protection.contains(.execute) ? "x" : "-")
    let name = mapping.path.isEmpty ? "anonymous memory" : mapping.path
    return "\(name) (\(mapping.range) \(letters))"
  }

  static func distance(_ bytes: UInt64) -> String {
    switch bytes {
    case ..<10_240: "\(bytes) bytes"
    case ..<(10 << 20): "\(bytes >> 10) KiB"
    case ..<(10 << 30): "\(bytes >> 20) MiB"
    default: "\(bytes >> 30) GiB"
    }
  }
}
