internal import IntermediateDump
internal import ProcessSnapshot

/// The memory, the code and the functions of the crashed process, for the methods that unwind its stacks.
///
/// Results are cached for later frames and threads.
final class UnwindProcess {
  let snapshot: ProcessSnapshot
  private let symbols: SymbolSource?
  let registers: RegisterMap
  private var workLeft = 1 << 24
  private let limit: WorkLimit
  private let returnAddresses = BoundedCache<Address, ReturnAddressCheck>()
  /// Whether signal handlers return to an address.
  let trampolines = BoundedCache<Address, Bool>()
  private let frameSetups = BoundedCache<Address, FrameSetup>()
  private let identities = BoundedCache<Address, Address>()
  private let cfiRows = BoundedCache<Address, CFIRow?>()
  private let capturedTables = BoundedCache<Address, CFITable?>()
  private let asyncFunctions = BoundedCache<Address, String?>()
  private lazy var stacks = snapshot.stackMemory
  private lazy var stackRanges = snapshot.threads.compactMap(\.stackRange)
    .sorted { $0.start < $1.start }

  /// Whether the code before an address is a call, so that the address can be a return address.
  enum ReturnAddressCheck {
    case behindCall
    case notBehindCall
    /// The address is or may be executable, but neither the dump nor a file contains the code.
    case codeUnknown
  }

  init(snapshot: ProcessSnapshot, symbols: SymbolSource?) {
    self.snapshot = snapshot
    self.symbols = symbols
    limit = symbols?.limit ?? WorkLimit()
    registers = RegisterMap(snapshot.architecture)
  }

  var architecture: ProcessSnapshot.Architecture { snapshot.architecture }

  func word(at address: Address) -> UInt64? { snapshot.memory.word(at: address) }

  /// Reads a little-endian number of 1 to 8 bytes.
  func number(at address: Address, width: Int) -> UInt64? {
    snapshot.memory.bytes(at: address, count: width)?.littleEndian(at: 0, width: width)
  }

  /// Reads code from the dump, otherwise from the module's file.
  func code(at address: Address, count: Int) -> [UInt8]? {
    if let captured = snapshot.memory.bytes(at: address, count: count) { return Array(captured) }
    guard let module = snapshot.module(containing: address) else { return nil }
    return symbols?.code(at: address, count: count, in: module)
  }

  /// Uses the mappings and the program headers to check whether an address is executable.
  ///
  /// Mappings alone are not enough, because an emulator's mappings of its guest's code are not executable.
  ///
  /// If the dump lacks the mapping, only the module is used.
  func isExecutable(_ address: Address) -> Bool {
    let mapping = snapshot.mapping(containing: address)
    if mapping?.protection.contains(.execute) == true { return true }
    guard let module = snapshot.module(containing: address) else { return false }
    return module.segments.isEmpty ? mapping == nil : module.hasCode(at: address)
  }

  /// False for a dump that was truncated before its mappings and modules; then only frame pointers can be followed.
  var knowsCode: Bool { !snapshot.mappings.isEmpty || !snapshot.modules.isEmpty }

  /// Returns the code address in a word; on arm64, this removes the bits of pointer authentication.
  func codeAddress(_ word: UInt64) -> Address {
    // User addresses have at most 48 bits, unless the process requested more. The mask therefore keeps 48 bits.
    Address(architecture == .arm64 ? word & 0x0000_FFFF_FFFF_FFFF : word)
  }

  func check(returnAddress address: Address) -> ReturnAddressCheck {
    returnAddresses.value(at: address) { uncachedCheck(address) }
  }

  private func uncachedCheck(_ address: Address) -> ReturnAddressCheck {
    guard knowsCode else {
      // The dump does not show which memory is code, so any address outside the stacks may be code. The bytes before
      // the address are not checked, because data sometimes looks like a call.
      guard address >= 0x1_0000, address < 0x1_0000_0000_0000 else { return .notBehindCall }
      return stacks.contains(address) ? .notBehindCall : .codeUnknown
    }
    // A call that never returns may be the last instruction of its section, so the byte before the address is
    // checked.
    guard address > 16, isExecutable(address &- 1) else { return .notBehindCall }
    guard let code = code(at: address &- 8, count: 8) else { return .codeUnknown }
    let isBehindCall = CallInstruction.ends(code, architecture: architecture)
    return isBehindCall ? .behindCall : .notBehindCall
  }

  /// The linkage name of the function that contains an address.
  func functionName(_ address: Address) -> String? {
    snapshot.module(containing: address).flatMap { symbols?.linkageName(of: address, in: $0) }
  }

  /// Determines how the function that contains an address sets up its frame.
  func frameSetup(around address: Address) -> FrameSetup {
    guard let module = snapshot.module(containing: address),
      let start = symbols?.functionStart(of: address, in: module)
    else { return .unknown }
    return frameSetups.value(at: start) {
      let code = code(at: start, count: FrameSetup.codeSize) ?? code(at: start, count: 16)
      return code.map { FrameSetup(code: $0, start: start, architecture: architecture) } ?? .unknown
    }
  }

  /// Finds the unwind rules for an address: in the module's file, otherwise in the dump's memory.
  func cfiRow(at address: Address) -> CFIRow? {
    cfiRows.value(at: address) { uncachedCFIRow(at: address) }
  }

  /// True if files are read, but the file with the unwind tables of the module at an address was not found.
  func lacksTables(at address: Address) -> Bool {
    guard let symbols, let module = snapshot.module(containing: address) else { return false }
    return cfiRow(at: address) == nil && symbols.lacksTables(of: module)
  }

  private func uncachedCFIRow(at address: Address) -> CFIRow? {
    // The search counts as 64 units of work, because it takes a few microseconds, or longer for a crafted program.
    guard let module = snapshot.module(containing: address), spend(64) else { return nil }
    if let row = symbols?.cfiRow(at: address, in: module, registerCount: registers.count) {
      return row
    }
    guard let table = capturedTable(of: module) else {
      symbols?.noteMissingTables(of: module)
      return nil
    }
    return table.row(at: address, loadBias: 0, registerCount: registers.count)
  }

  private func capturedTable(of module: ModuleSnapshot) -> CFITable? {
    capturedTables.value(at: module.address) {
      CFITable(captured: module, in: snapshot.memory, limit)
    }
  }

  /// Returns a number that identifies the function of a frame: the function's start, otherwise the address.
  func functionIdentity(_ state: UnwindState) -> Address {
    guard let address = state.lookupAddress else { return 0 }
    return identities.value(at: address) {
      let module = snapshot.module(containing: address)
      return module.flatMap { symbols?.functionStart(of: address, in: $0) } ?? address
    }
  }

  /// Recognizes the functions in which the kernel starts threads and programs.
  ///
  /// These functions call the first function of the thread or of the program. The walker recognizes them by their
  /// names. On x86_64, it also recognizes them by the code after this call, because libc may be stripped.
  func isFirstFunction(_ state: UnwindState, _ address: Address) -> Bool {
    guard let lookup = state.lookupAddress, let module = snapshot.module(containing: lookup) else {
      return false
    }
    if let name = symbols?.linkageName(of: lookup, in: module), Self.firstFunctions.contains(name) {
      return true
    }
    guard architecture == .x86_64, state.isReturnAddress else { return false }
    // In _start, the code after the call is the instruction HLT (0xF4). In clone and clone3, the code is: mov rdi, rax
    // (or edi, eax); mov eax, 60; syscall.
    if code(at: address, count: 1) == [0xF4] { return true }
    guard let code = code(at: address, count: 10) else { return false }
    let exit: [UInt8] = [0x89, 0xC7, 0xB8, 0x3C, 0, 0, 0, 0x0F, 0x05]
    return code.starts(with: exit) || code.starts(with: [0x48] + exit)
  }

  private static let firstFunctions: Set = [
    "_start", "clone", "clone3", "__clone", "__clone3", "thread_start",
  ]

  /// The linkage name of the asynchronous function that contains an address.
  ///
  /// The name lacks the suffix, such as `TY0_`, of the part into which the compiler has split the function.
  ///
  /// The result is nil for a synchronous function, or if the function's name is not known.
  func asyncFunction(_ address: Address) -> String? {
    asyncFunctions.value(at: address) {
      functionName(address).flatMap(AsyncFunctionName.whole)
    }
  }

  /// Checks whether a task may continue at an address.
  ///
  /// The address must be in an asynchronous function, in the runtime's library for concurrency, or in the runtime's
  /// function that completes a task.
  func isAsynchronous(_ address: Address) -> Bool {
    if asyncFunction(address) != nil { return true }
    guard let module = snapshot.module(containing: address) else { return false }
    if module.name.hasPrefix("libswift_Concurrency.so") { return true }
    // A statically linked program contains the runtime's function that completes a task, so only the function's name
    // shows that the function belongs to the runtime.
    return functionName(address)?.contains("completeTask") == true
  }

  /// Subtracts `units` from the total amount of work that one walker may do.
  ///
  /// The limit protects against an attacker's dump, for example with many threads on one very large stack.
  ///
  /// - Parameter units: the amount of work; a frame or a scanned word is one unit, which takes well below a
  ///   microsecond in a release build.
  /// - Returns: false if fewer than `units` are left.
  func spend(_ units: Int) -> Bool {
    guard workLeft >= units else { return false }
    workLeft -= units
    return true
  }

  /// True for an address in the known bounds of a stack whose word was not captured.
  func isMissing(_ address: Address) -> Bool {
    let index = stackRanges.partitioningIndex { $0.start > address } - 1
    return index >= 0 && stackRanges[index].contains(address) && word(at: address) == nil
  }

  /// The captured part of a stack after a part that was left out because of a size limit; nil if there is no such part.
  func partBehindGap(after address: Address) -> MemoryRegion? {
    // The stack pointer may be right after the end of the captured part below the gap.
    let memory = snapshot.memory
    guard
      let part = memory.region(containing: address) ?? memory.region(containing: address &- 1),
      let stack = wholeStack(around: address), let last = part.range.last,
      stack.contains(last), let next = memory.region(above: last), stack.contains(next.range)
    else { return nil }
    return next
  }

  /// The stack that contains an address, even if it shares its mapping with other stacks; the whole mapping if no stack
  /// is known there.
  private func wholeStack(around address: Address) -> AddressRange? {
    let index = stackRanges.partitioningIndex { $0.start > address } - 1
    if index >= 0, stackRanges[index].contains(address) { return stackRanges[index] }
    return snapshot.mapping(containing: address)?.range
  }

  /// The stack around an address, from the start of the captured region that contains the address.
  ///
  /// The range includes a part of the stack that was left out because of a size limit. The range excludes other
  /// memory that follows the stack in a core file.
  func stack(around address: Address) -> AddressRange? {
    guard let region = snapshot.memory.region(containing: address) else { return nil }
    guard let last = wholeStack(around: address)?.last, last > address else { return region.range }
    return AddressRange(from: region.address, through: last)
  }
}

/// Caches results by keys, such as addresses.
///
/// The number of results is limited, because a crafted stack could otherwise make the cache grow without bound.
final class BoundedCache<Key: Hashable, Value> {
  private var values: [Key: Value] = [:]
  private let limit: Int

  init(limit: Int = 1 << 16) { self.limit = limit }

  /// The result for a key; it is computed if it is not cached.
  func value(at key: Key, make: () -> Value) -> Value {
    if let known = values[key] { return known }
    let value = make()
    if values.count < limit { values[key] = value }
    return value
  }
}
