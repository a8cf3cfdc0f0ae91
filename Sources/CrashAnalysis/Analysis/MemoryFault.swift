internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the cause of a SIGSEGV that is not known to have been sent by a process.
struct MemoryFault {
  let site: FaultSite

  private var exception: ExceptionSnapshot { site.exception }
  private var snapshot: ProcessSnapshot { site.snapshot }
  private var trace: StackTrace { site.trace }
  private var code: CodeReader { site.code }

  /// Addresses below this one are never mapped on most systems, because /proc/sys/vm/mmap_min_addr is usually 64 KiB.
  private static let nullPageEnd: Address = 0x1_0000
  /// A fault below this address is most likely an access to a property or an element at null.
  private static let longestOffset: Address = 4096
  /// The maximum distance in bytes below a stack at which a fault counts as an overflow of this stack without further
  /// evidence.
  ///
  /// Guard regions usually have sizes between one page and 1 MiB, and this distance covers all of these sizes.
  private static let guardSize: UInt64 = 1 << 20
  /// The maximum number of bytes that a signal frame takes below the stack pointer.
  ///
  /// A signal frame takes the red zone and AT_MINSIGSTKSZ bytes. AT_MINSIGSTKSZ is about 11 KiB with the largest
  /// registers of x86_64.
  private static let signalFrameSize: UInt64 = 16 << 10
  /// The default size in bytes of the guard region that glibc makes inside the mapping of a thread's stack on arm64.
  ///
  /// On other processors, the default size is smaller. A program can choose a larger size. In a run of crash-lab's
  /// `full-stack-signal` with glibc 2.43, 4,544 bytes above this region were too little for a signal frame.
  private static let hiddenGuardSize: UInt64 = 64 << 10
  /// The minimum number of frames of a function that count as a recursion.
  private static let fewestRounds = 3
  /// The length of the longest x86_64 instruction, which is 15 bytes, plus 1, because distances are compared with `<`.
  ///
  /// Source: Intel SDM volume 2, 2.3.11.
  private static let longestInstruction: UInt64 = 16
  /// Source: Intel SDM volume 3, 6.15, interrupt 13 (#GP).
  private static let generalProtectionTrap: UInt64 = 13
  /// Source: Intel SDM volume 3, 6.15, interrupt 14 (#PF).
  private static let pageFaultTrap: UInt64 = 14
  /// The codes SEGV_PKUERR, SEGV_MTEAERR, SEGV_MTESERR and SEGV_CPERR; headers of libc lack some of them.
  private static let protectionKeyCode: Int32 = 4
  private static let asynchronousTagCode: Int32 = 8
  private static let synchronousTagCode: Int32 = 9
  private static let controlProtectionCode: Int32 = 10

  private var access: MemoryAccess? { MemoryAccess(exception) }

  var finding: Finding? {
    guard var finding = bareFinding else { return nil }
    // The kernel reports unmapped memory and missing permissions only for a page fault. Without one, the program may
    // have sent itself a signal with these codes.
    if isWithoutPageFault { finding.certainty = .likely }
    if access == .execute, let object = site.objectWithoutMethod {
      if case .overwrittenReturn = finding.cause {
      } else {
        finding.certainty = .likely
        finding.evidence.append(.noMethod(object))
      }
    }
    if let allocator = allocatorFunction { finding.evidence.append(.allocator(allocator)) }
    finding.evidence += site.wordEvidence(of: finding.cause)
    return finding
  }

  private var bareFinding: Finding? {
    let fact = snapshot.signalEvidence + accessEvidence
    if exception.code == ExceptionSnapshot.kernelCode {
      return overflowBySignal(fact) ?? generalProtection(fact)
    }
    switch exception.code {
    case nil, Int32(clamping: SEGV_MAPERR), Int32(clamping: SEGV_ACCERR): break
    default: return ruleFinding(fact)
    }
    guard let address = exception.address else { return nil }
    if let overflow = stackOverflow(address) {
      guard let mapping = hiddenMapping(address) else { return overflowFinding(overflow, fact) }
      var finding = overflowFinding(overflow, fact + guardEvidence(mapping))
      finding.certainty = guardCertainty
      return finding
    }
    if access == .execute, site.isReturn(to: address) {
      return Finding(cause: .overwrittenReturn(address), certainty: .likely, evidence: fact)
    }
    if let finding = endOfCode(address, fact) { return finding }
    if let finding = nullFinding(address, fact) { return finding }
    // With addresses of 57 bits, or with tags that the processor ignores, a page fault can have such an address.
    if snapshot.architecture == .x86_64, !address.isCanonicalOnAnyProcessor, !isPageFault {
      return Finding(
        cause: .impossibleAddress(access, address), certainty: .likely, evidence: fact)
    }
    if let mapping = hiddenMapping(address) {
      if isMappedSince {
        return Finding(
          cause: .mappedSince(access, address, mapping), evidence: fact + [.mapping(mapping)])
      }
      return Finding(
        cause: .guardRegion(access, address, mapping), certainty: guardCertainty,
        evidence: fact + guardEvidence(mapping))
    }
    if let mapping = snapshot.mapping(containing: address) {
      return Finding(
        cause: isOfNoMapping(address)
          ? .mappedSince(access, address, mapping) : .protectedMemory(access, address, mapping),
        evidence: fact + [.mapping(mapping)])
    }
    guard !snapshot.mappings.isEmpty else { return nil }
    return Finding(
      cause: .unmappedMemory(
        access, address,
        below: snapshot.mappings.last { $0.range.ends(atOrBelow: address) },
        above: snapshot.mappings.first { $0.start > address }),
      evidence: fact + [.notMapped])
  }

  /// The finding for an access near null; nil if the address was not computed from a null pointer.
  private func nullFinding(_ address: Address, _ fact: [Evidence]) -> Finding? {
    guard address < Self.nullPageEnd else { return nil }
    func null(_ isCertain: Bool) -> Finding {
      Finding(
        cause: access == .execute ? .nullCall(address) : .nullDereference(access, address),
        certainty: isCertain ? .certain : .likely, evidence: fact)
    }
    if access == .execute { return null(address == 0) }
    // A small number is most likely the offset of a property; a larger one may be anything.
    let isNear = address < Self.longestOffset || snapshot.mappings.isEmpty
    switch NullBase(at: address, exception, code) {
    case .null: return null(true)
    case .unknown: return null(address == 0)
    case .constant: return isNear ? null(address == 0) : nil
    case .none: return isNear ? null(false) : nil
    case .value(let base):
      return isNear && base < Self.nullPageEnd.value ? null(false) : nil
    }
  }

  /// The finding for a fault that is about neither unmapped memory nor a mapping's permissions; nil if the meaning of
  /// its code is not known.
  ///
  /// Source: Linux include/uapi/asm-generic/siginfo.h, the codes of SIGSEGV.
  private func ruleFinding(_ fact: [Evidence]) -> Finding? {
    switch exception.code {
    case Self.protectionKeyCode:
      guard let address = exception.address else { return nil }
      let mapping = snapshot.mapping(containing: address)
      return Finding(
        cause: .protectionKey(access, address, mapping, key: exception.protectionKey),
        evidence: fact + (mapping.map { [.mapping($0)] } ?? []))
    case Self.asynchronousTagCode: return Finding(cause: .memoryTag(nil, nil), evidence: fact)
    case Self.synchronousTagCode:
      return Finding(cause: .memoryTag(access, exception.address), evidence: fact)
    case Self.controlProtectionCode: return Finding(cause: .controlProtection, evidence: fact)
    default: return nil
    }
  }

  /// True if the processor is known to have raised a page fault.
  private var isPageFault: Bool { exception.trapNumber == Self.pageFaultTrap }

  /// True if a code that the kernel reports only for page faults came without one, on a processor that records this.
  private var isWithoutPageFault: Bool {
    guard snapshot.architecture == .x86_64, let trap = exception.trapNumber,
      exception.code != ExceptionSnapshot.kernelCode, exception.code != Self.controlProtectionCode
    else { return false }
    return trap != Self.pageFaultTrap
  }

  /// The mapping that contains the faulting address and allows the access, although the kernel reported unmapped
  /// memory.
  ///
  /// If the kind of access is not known, the mapping need only allow some access.
  ///
  /// Either MADV_GUARD_INSTALL made a guard region in this mapping, or the memory was mapped after the fault. With
  /// glibc 2.42 or later and Linux 6.13 or later, the stacks that glibc allocates for threads have such guard regions.
  private func hiddenMapping(_ address: Address) -> MemoryMapping? {
    guard exception.code == Int32(clamping: SEGV_MAPERR),
      let mapping = snapshot.mapping(containing: address), !mapping.protection.isEmpty
    else { return nil }
    let needed: MemoryMapping.Protection =
      switch access {
      case .read: .read
      case .write: .write
      case .execute: .execute
      case nil: []
      }
    return mapping.protection.isSuperset(of: needed) ? mapping : nil
  }

  /// True if the kernel reported unmapped memory at an address that a program can map.
  ///
  /// A mapping that does not allow the access, and contains the address now, was then made after the fault. The kernel's
  /// own addresses, such as `[vsyscall]`, always count as unmapped.
  private func isOfNoMapping(_ address: Address) -> Bool {
    exception.code == Int32(clamping: SEGV_MAPERR) && address.value >> 63 == 0
  }

  /// True if /proc/self/pagemap showed a guard region at the address; Linux shows guard regions there since version
  /// 6.15.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst.
  private var isKnownGuard: Bool { exception.faultPage.map { $0 >> 58 & 1 == 1 } ?? false }

  /// True if /proc/self/pagemap showed that there is no guard region at the address, so the memory was mapped after the
  /// fault.
  ///
  /// Linux before 6.15 shows a guard region as a swapped-out page, so a page that is shown as swapped out may be a
  /// guard region.
  private var isMappedSince: Bool {
    exception.faultPage.map { !isKnownGuard && $0 >> 62 & 1 == 0 } ?? false
  }

  private var guardCertainty: Finding.Certainty { isKnownGuard ? .certain : .likely }

  private func guardEvidence(_ mapping: MemoryMapping) -> [Evidence] {
    [.mapping(mapping)] + (isKnownGuard ? [.guardRegion] : [])
  }

  /// The finding for an instruction fetch right after the end of a mapping with code; nil for another fault.
  ///
  /// If the instruction itself begins before the mapping's end, execution came from the preceding code. If the
  /// instruction begins at the mapping's end, code may also have jumped to the address.
  private func endOfCode(_ address: Address, _ fact: [Evidence]) -> Finding? {
    guard access == .execute, let place = exception.context?.instructionPointer,
      let distance = address.distance(above: place), distance < Self.longestInstruction,
      let code = snapshot.mapping(containing: address &- 1), code.range.end == address,
      code.protection.contains(.execute)
    else { return nil }
    return Finding(
      cause: .endOfCode(address, code), certainty: distance > 0 ? .certain : .likely,
      evidence: fact + [.mapping(code)])
  }

  private var accessEvidence: [Evidence] {
    guard let error = exception.trapErrorCode, let access else { return [] }
    if snapshot.architecture == .arm64 { return [.faultSyndrome(error, access)] }
    return exception.trapNumber == 14 ? [.pageFault(error, access)] : []
  }

  private static let allocatorFunctions: Set = [
    "malloc", "free", "calloc", "realloc", "_int_malloc", "_int_free", "_int_realloc",
    "malloc_consolidate", "unlink_chunk", "unlink_chunk.isra.0", "tcache_get", "tcache_put",
    "__libc_malloc", "__libc_free", "cfree", "_int_free_merge_chunk", "sysmalloc",
  ]

  /// The name of a function of the C library's allocator that is among the innermost frames; nil if there is none.
  private var allocatorFunction: String? {
    trace.frames.prefix(4).compactMap(\.linkageName).first(where: Self.allocatorFunctions.contains)
  }

  private func generalProtection(_ fact: [Evidence]) -> Finding? {
    guard snapshot.architecture == .x86_64, let context = exception.context,
      exception.trapNumber ?? Self.generalProtectionTrap == Self.generalProtectionTrap
    else { return nil }
    let place = context.instructionPointer
    let instruction = code.bytes(at: place, upTo: 15)
    if instruction.map(PrivilegedInstruction.begins) ?? false {
      return Finding(cause: .privilegedInstruction(place), evidence: fact)
    }
    if let address = site.stoppedReturn(instruction) {
      return Finding(cause: .overwrittenReturn(address), evidence: fact)
    }
    let operand = GeneralProtectionOperand(of: context, in: snapshot, code)
    if let address = operand.misaligned {
      return Finding(cause: .misalignedVector(address), certainty: .likely, evidence: fact)
    }
    let suspects = operand.suspects
    return Finding(
      cause: .generalProtection(suspects), certainty: .likely,
      evidence: fact + suspects.map { .register($0) })
  }

  /// The stack overflow that a fault shows; nil unless the faulting address is below the stack's memory, and at most
  /// 512 bytes below the stack pointer.
  private func stackOverflow(_ address: Address) -> StackOverflow? {
    guard let stackPointer = exception.context?.stackPointer,
      var stack = snapshot.crashedThread?.stackRange, access != .execute
    else { return nil }
    let isHidden = hiddenMapping(address) != nil && !isMappedSince
    if isHidden, stack.contains(address) {
      // The guard region is the lowest part of the stack, and the memory that could be captured begins above it.
      guard let lowest = snapshot.memory.region(above: address)?.address.alignedDown(to: 4096),
        lowest > address
      else { return nil }
      stack = AddressRange(from: lowest, to: stack.clampedEnd)
    }
    guard let below = stack.start.distance(above: address), below > 0 else { return nil }
    // The red zone and the target of a push are below the stack pointer, so up to 512 bytes below it count as well; the
    // rest of a frame is above it.
    let lowest = stackPointer.clampedSubtracting(512)
    let isInGuard =
      isHidden
      || snapshot.mapping(containing: address).map {
        $0.protection.isEmpty && $0.range.end == stack.start
      } ?? false
    // If a frame is larger than any guard region, the frame pointer is still in the stack, but the stack pointer is
    // not.
    let framePointer = exception.context?.framePointer ?? 0
    let frameSize =
      stackPointer < stack.start && stack.contains(framePointer)
      ? framePointer.distance(above: stackPointer) : nil
    guard address >= lowest, below <= Self.guardSize || isInGuard || frameSize != nil,
      stackPointer < stack.start.clampedAdding(Self.guardSize)
    else { return nil }
    return overflow(
      .access(
        address, below: below, isInGuard: isInGuard,
        frameSize: below > Self.guardSize ? frameSize : nil), stack, stackPointer)
  }

  /// The finding for a stack overflow that occurred when the kernel delivered a signal, and not at an instruction; nil
  /// for another fault.
  ///
  /// The kernel sent SIGSEGV because the frame of another signal did not fit on the stack.
  ///
  /// For example, the other signal arrives after the instruction that moves the stack pointer, but before the
  /// instruction that would fault.
  ///
  /// Source: Linux kernel/signal.c, signal_setup_done and force_sigsegv.
  private func overflowBySignal(_ fact: [Evidence]) -> Finding? {
    // On arm64, no fault of an instruction has the code SI_KERNEL. On x86_64, a general protection fault has this code
    // too, and only the trap number tells the two apart; core files have no trap number.
    guard exception.trapNumber != Self.generalProtectionTrap || snapshot.architecture != .x86_64,
      let stackPointer = exception.context?.stackPointer,
      let stack = snapshot.crashedThread?.stackRange, !stack.ends(atOrBelow: stackPointer),
      // If the stack pointer is in other writable memory, there is room for the frame, so a lack of room is not the
      // cause.
      stack.contains(stackPointer)
        || snapshot.mapping(containing: stackPointer)?.protection.contains(.write) != true
    else { return nil }
    // Without the trap number, the fault may also be a general protection fault, so the stack pointer must not be far
    // below the stack.
    let isTrapKnown = snapshot.architecture != .x86_64 || exception.trapNumber != nil
    guard isTrapKnown || stack.start.clampedSubtracting(Self.guardSize) <= stackPointer else {
      return nil
    }
    // Since glibc 2.42, the lowest part of a thread's stack may be a guard region that /proc/self/maps does not show.
    // Source: glibc nptl/allocatestack.c, which calls madvise with MADV_GUARD_INSTALL.
    let mayHideGuard =
      exception.threadID != snapshot.process.processID
      && stack.start.clampedAdding(Self.signalFrameSize) <= stackPointer
    let usable = stack.start.clampedAdding(mayHideGuard ? Self.hiddenGuardSize : 0)
    guard stackPointer < usable.clampedAdding(Self.signalFrameSize) else { return nil }
    var finding = overflowFinding(
      overflow(.signal(mayHideGuard: mayHideGuard), stack, stackPointer), fact)
    if !isTrapKnown || mayHideGuard { finding.certainty = .likely }
    return finding
  }

  private func overflow(
    _ fault: StackOverflow.Fault, _ stack: AddressRange, _ stackPointer: Address
  ) -> StackOverflow {
    // The main thread can run on another stack than its own, such as an alternate stack for signals.
    let isMainThread = exception.threadID == snapshot.process.processID
    let isOther =
      isMainThread && snapshot.mappings.contains { $0.path == "[stack]" }
      && snapshot.mapping(containing: stack.start)?.path != "[stack]"
    return StackOverflow(
      fault: fault, stack: stack, stackPointer: stackPointer, depth: depth,
      // RLIMIT_STACK applies only to the main thread's own stack; other stacks are limited by their mappings.
      limit: isMainThread && !isOther ? snapshot.process.limits?.stackSize?.soft : nil,
      isOtherThanMain: isOther, recursion: commonFunction)
  }

  private func overflowFinding(_ overflow: StackOverflow, _ fact: [Evidence]) -> Finding {
    var evidence = fact + [.stack(overflow.stack), .stackPointer(overflow.stackPointer)]
    if let depth = overflow.depth {
      evidence.append(.frames(found: depth.found, estimated: depth.estimated))
    }
    if let limit = overflow.limit { evidence.append(.stackLimit(limit)) }
    return Finding(cause: .stackOverflow(overflow), evidence: evidence)
  }

  /// The number of the calls that fill the stack, without those that lead to them and those that they made last.
  private var depth: StackOverflow.Depth? {
    guard !trace.frames.isEmpty else { return nil }
    let estimated = min(trace.recursion?.estimatedInGap ?? 0, 1 << 40)
    let isWhole = trace.end == .bottom && (!trace.hasGap || estimated > 0)
    return StackOverflow.Depth(found: recursiveCount, estimated: estimated, isWhole: isWhole)
  }

  /// The number of frames from the first to the last one of a function that is on the stack several times.
  private var recursiveCount: Int {
    let calls = trace.frames.filter { !$0.isInlined }
    var counts: [String: Int] = [:]
    for call in calls { if let name = call.linkageName { counts[name, default: 0] += 1 } }
    func isRepeated(_ call: StackFrame) -> Bool {
      call.linkageName.map { counts[$0, default: 0] >= Self.fewestRounds } ?? false
    }
    guard let first = calls.firstIndex(where: isRepeated),
      let last = calls.lastIndex(where: isRepeated)
    else { return trace.recursion?.count ?? calls.count + trace.omittedCount }
    return last - first + 1 + trace.omittedCount
  }

  private var commonFunction: StackOverflow.CommonFunction? {
    let names = trace.frames.prefix(64).compactMap(\.function)
    var counts: [String: Int] = [:]
    for name in names { counts[name, default: 0] += 1 }
    guard let most = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), most.value >= 8
    else { return nil }
    return StackOverflow.CommonFunction(
      name: most.key, count: most.value, frames: min(trace.frames.count, 64))
  }
}
