internal import ProcessSnapshot

/// Explains a SIGSEGV that the processor raised.
struct MemoryFault {
  let exception: ExceptionSnapshot
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]

  /// Addresses below this are never mapped: /proc/sys/vm/mmap_min_addr is 64 KiB almost everywhere.
  private static let nullPageEnd: UInt64 = 64 << 10
  /// How far below the stack a fault may lie and still be its overflow; guards are a page to 1 MiB.
  private static let guardSize: UInt64 = 1 << 20

  private var access: MemoryAccess? { MemoryAccess(exception) }

  private var verb: String {
    switch access {
    case .read: "A read of"
    case .write: "A write to"
    case .execute: "A jump or call to"
    case nil: "An access to"
    }
  }

  var text: String? {
    // SI_KERNEL: a general protection fault, for which the kernel knows no address.
    if exception.code == 0x80 { return generalProtection }
    guard let address = exception.address else { return nil }
    if let overflow = stackOverflow(address) { return overflow }
    let place = HexAddress(address)
    if address < Self.nullPageEnd { return nullAccess(address) }
    if snapshot.architecture == .x86_64, !Self.isCanonical(address) {
      return "\(verb) \(place), which is no possible address of a user process: the pointer is"
        + " not one, or was overwritten."
    }
    if let mapping = snapshot.mapping(containing: address) { return protected(address, mapping) }
    guard !snapshot.mappings.isEmpty else { return nil }
    return "\(verb) \(place), where nothing is mapped.\(neighbours(of: address))"
  }

  /// True where the stack was full.
  var isStackOverflow: Bool {
    exception.code != 0x80 && exception.address.flatMap(stackOverflow) != nil
  }

  private func nullAccess(_ address: UInt64) -> String {
    if access == .execute {
      return address == 0
        ? "A call or jump through a null function pointer."
        : "A call or jump to \(HexAddress(address)), near null."
    }
    if address == 0 { return "\(verb) address 0: a null pointer was dereferenced." }
    return "\(verb) \(HexAddress(address)): a null pointer was dereferenced at an offset of"
      + " \(address) bytes."
  }

  /// True for user and kernel addresses of 48 bits.
  static func isCanonical(_ address: UInt64) -> Bool {
    let high = address >> 47
    return high == 0 || high == 0x1_FFFF
  }

  private var generalProtection: String? {
    guard snapshot.architecture == .x86_64, let context = exception.context else { return nil }
    let suspects = context.generalRegisters.filter { !Self.isCanonical($0.value) }
    let head = "A general protection fault, for which the processor gives no address."
    guard !suspects.isEmpty else { return head }
    let list = suspects.map { "\($0.name) \(HexAddress($0.value))" }.joined(separator: ", ")
    return head + " It is what the use of a non-canonical address causes; these registers hold"
      + " values that are no possible addresses: \(list)."
  }

  private func protected(_ address: UInt64, _ mapping: MemoryMapping) -> String? {
    let protection = mapping.protection
    let place = "\(HexAddress(address)) in \(Self.describe(mapping))"
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

  private func neighbours(of address: UInt64) -> String {
    var text = ""
    if let below = snapshot.mappings.last(where: { $0.end <= address }) {
      text +=
        " The next mapping below ends \(Self.distance(address - below.end)) before it:"
        + " \(Self.describe(below))."
    }
    if let above = snapshot.mappings.first(where: { $0.start > address }) {
      text +=
        " The next above starts \(Self.distance(above.start - address)) behind it:"
        + " \(Self.describe(above))."
    }
    return text
  }

  /// A fault close to the stack pointer, right below the memory of the stack.
  private func stackOverflow(_ address: UInt64) -> String? {
    guard let stackPointer = exception.context?.stackPointer,
      let stack = snapshot.crashedThread?.stackRange, address < stack.lowerBound,
      access != .execute
    else { return nil }
    // The red zone and a push lie below the stack pointer, everything else of a frame above it.
    let lowest = stackPointer < 512 ? 0 : stackPointer - 512
    let below = stack.lowerBound - address
    let isInGuard =
      snapshot.mapping(containing: address).map {
        $0.protection.isEmpty && $0.end == stack.lowerBound
      } ?? false
    // A frame larger than any guard: the frame pointer is still in the stack, the stack pointer no
    // more.
    let framePointer = exception.context?.framePointer ?? 0
    let isHugeFrame = stackPointer < stack.lowerBound && stack.contains(framePointer)
    guard address >= lowest, below <= Self.guardSize || isInGuard || isHugeFrame,
      stackPointer < stack.lowerBound + Self.guardSize
    else { return nil }
    var text =
      "The stack overflowed: the address \(HexAddress(address)) lies"
      + " \(Self.distance(below)) below the stack"
      + " (\(HexAddress(stack.lowerBound))-\(HexAddress(stack.upperBound)),"
      + " \(Self.distance(UInt64(stack.count)))) and next to the stack pointer"
      + " \(HexAddress(stackPointer))\(isInGuard ? ", in its guard" : "")."
    if isHugeFrame, below > Self.guardSize {
      text += " The innermost frame alone is \(Self.distance(framePointer - stackPointer)) large."
    }
    if let recursion { text += " \(recursion)" }
    return text
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

  private static func describe(_ mapping: MemoryMapping) -> String {
    let protection = mapping.protection
    let letters =
      (protection.contains(.read) ? "r" : "-") + (protection.contains(.write) ? "w" : "-")
      + (protection.contains(.execute) ? "x" : "-")
    let name = mapping.path.isEmpty ? "anonymous memory" : mapping.path
    return "\(name) (\(HexAddress(mapping.start))-\(HexAddress(mapping.end)) \(letters))"
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
