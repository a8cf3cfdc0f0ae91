internal import ProcessSnapshot

/// What unwinding methods may ask of the crashed process: memory, code and function starts.
///
/// A class, so that what was found out about a return address is kept for the next thread.
final class UnwindProcess {
  let snapshot: ProcessSnapshot
  private let symbols: SymbolSource?
  private var returnAddresses: [Address: ReturnAddressCheck] = [:]
  private var workLeft = 1 << 24
  private var frameSetups: [Address: FrameSetup] = [:]
  private var identities: [Address: Address] = [:]
  private var frameRows: [Address: FrameRow?] = [:]
  private var capturedTables: [Address: CallFrameTable?] = [:]
  /// The whole function's name by the address of one of its pieces; nil for a function that is not
  /// asynchronous.
  var asyncFunctions: [Address: String?] = [:]
  let registers: RegisterMap

  /// What the code in front of an address says.
  enum ReturnAddressCheck {
    case behindCall
    case notBehindCall
    /// Executable, but its code is in neither the dump nor a module's file.
    case codeUnknown
  }

  init(snapshot: ProcessSnapshot, symbols: SymbolSource?) {
    self.snapshot = snapshot
    self.symbols = symbols
    registers = RegisterMap(snapshot.architecture)
  }

  var architecture: ProcessSnapshot.Architecture { snapshot.architecture }

  func word(at address: Address) -> UInt64? { snapshot.memory.word(at: address) }

  /// 1 to 8 bytes as a little-endian number.
  func number(at address: Address, width: Int) -> UInt64? {
    snapshot.memory.bytes(at: address, count: width)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Code at an address, from the dump if it holds it, else from the module's file.
  func code(at address: Address, count: Int) -> [UInt8]? {
    if let captured = snapshot.memory.bytes(at: address, count: count) { return Array(captured) }
    guard let module = snapshot.module(containing: address) else { return nil }
    return symbols?.code(at: address, count: count, in: module)
  }

  /// Whether code could have run at an address.
  ///
  /// Mappings decide where there are any; else modules, so that a torn dump still gives a stack.
  func isExecutable(_ address: Address) -> Bool {
    if let mapping = snapshot.mapping(containing: address) {
      return mapping.protection.contains(.execute)
    }
    return snapshot.mappings.isEmpty && snapshot.module(containing: address) != nil
  }

  /// False for a dump that was torn before its mappings and modules: then nothing tells where code
  /// is, and a chain of frame pointers is all there is to go by.
  var knowsCode: Bool { !snapshot.mappings.isEmpty || !snapshot.modules.isEmpty }

  /// Takes away what is no part of a code address: pointer authentication bits on arm64.
  func codeAddress(_ word: UInt64) -> Address {
    // User addresses have at most 48 bits unless asked for more; bit 55 tells user from kernel.
    Address(architecture == .arm64 ? word & 0x0000_FFFF_FFFF_FFFF : word)
  }

  func check(returnAddress address: Address) -> ReturnAddressCheck {
    if let known = returnAddresses[address] { return known }
    let result = uncachedCheck(address)
    // A hostile stack must not grow the cache without end.
    if returnAddresses.count < 1 << 16 { returnAddresses[address] = result }
    return result
  }

  private func uncachedCheck(_ address: Address) -> ReturnAddressCheck {
    guard knowsCode else {
      let isUserSpace = address >= 0x1_0000 && address < 0x1_0000_0000_0000
      return isUserSpace && snapshot.memory.region(containing: address) == nil
        ? .codeUnknown : .notBehindCall
    }
    // A call that never returns may be the last instruction of its section.
    guard address > 16, isExecutable(address &- 1) else { return .notBehindCall }
    guard let code = code(at: address &- 8, count: 8) else { return .codeUnknown }
    let isBehindCall = CallInstruction.ends(code, architecture: architecture)
    return isBehindCall ? .behindCall : .notBehindCall
  }

  /// The linkage name of the function around an address.
  func functionName(_ address: Address) -> String? {
    snapshot.module(containing: address).flatMap { symbols?.linkageName(of: address, in: $0) }
  }

  /// How the function around an address keeps its frame pointer.
  func frameSetup(around address: Address) -> FrameSetup {
    guard let module = snapshot.module(containing: address),
      let start = symbols?.functionStart(of: address, in: module)
    else { return .unknown }
    if let known = frameSetups[start] { return known }
    var setup = FrameSetup.unknown
    for count in [FrameSetup.codeSize, 16] {
      guard let code = code(at: start, count: count) else { continue }
      setup = FrameSetup(code: code, start: start, architecture: architecture)
      break
    }
    if frameSetups.count < 1 << 16 { frameSetups[start] = setup }
    return setup
  }

  /// The rules for unwinding at an address: from the module's file, else from the dump's memory.
  func frameRow(at address: Address) -> FrameRow? {
    if let known = frameRows[address] { return known }
    let row = uncachedFrameRow(at: address)
    if frameRows.count < 1 << 16 { frameRows[address] = .some(row) }
    return row
  }

  private func uncachedFrameRow(at address: Address) -> FrameRow? {
    // Some microseconds, and more for a hostile program: dear beside a scanned word.
    guard let module = snapshot.module(containing: address), spend(64) else { return nil }
    if let row = symbols?.frameRow(at: address, in: module, registerCount: registers.count) {
      return row
    }
    guard let table = capturedTable(of: module) else {
      if !module.path.hasPrefix("/") { symbols?.noteMissingCode(of: module) }
      return nil
    }
    return table.row(at: address, loadBias: 0, registerCount: registers.count)
  }

  private func capturedTable(of module: ModuleSnapshot) -> CallFrameTable? {
    if let known = capturedTables[module.address] { return known }
    let table = CallFrameTable(capturedAt: module.address, in: snapshot.memory)
    capturedTables[module.address] = .some(table)
    return table
  }

  /// The same number for frames of the same function: its start, or the address where that is not
  /// known.
  func functionIdentity(_ state: UnwindState) -> Address {
    guard let address = state.lookupAddress else { return 0 }
    if let known = identities[address] { return known }
    let module = snapshot.module(containing: address)
    let identity = module.flatMap { symbols?.functionStart(of: address, in: $0) } ?? address
    if identities.count < 1 << 16 { identities[address] = identity }
    return identity
  }

  /// True in the functions that the kernel starts threads and programs in, which have no caller.
  ///
  /// Told by name, or where libc is stripped by what stands behind the call: nothing that could
  /// return.
  func isFirstFunction(_ state: UnwindState, _ address: Address) -> Bool {
    guard let lookup = state.lookupAddress, let module = snapshot.module(containing: lookup) else {
      return false
    }
    if let name = symbols?.linkageName(of: lookup, in: module), Self.firstFunctions.contains(name) {
      return true
    }
    guard architecture == .x86_64, state.isReturnAddress else { return false }
    // _start: HLT. clone and clone3: mov rdi, rax (or edi, eax); mov eax, 60; syscall.
    if code(at: address, count: 1) == [0xF4] { return true }
    guard let code = code(at: address, count: 10) else { return false }
    let exit: [UInt8] = [0x89, 0xC7, 0xB8, 0x3C, 0, 0, 0, 0x0F, 0x05]
    return code.starts(with: exit) || code.starts(with: [0x48] + exit)
  }

  private static let firstFunctions: Set = [
    "_start", "clone", "clone3", "__clone", "__clone3", "thread_start",
  ]

  /// Takes from the work that one walker may do in all, so that a hostile dump of many threads on
  /// one vast stack ends.
  ///
  /// A unit is a frame or a scanned word: well below a microsecond in release.
  func spend(_ units: Int) -> Bool {
    guard workLeft >= units else { return false }
    workLeft -= units
    return true
  }

  /// The captured part of a stack behind one that a cap cut off; nil where the stack was captured
  /// in one piece.
  func partBehindGap(after address: Address) -> MemoryRegion? {
    // The stack pointer of a frame whose callee ends with the part is one past it.
    let memory = snapshot.memory
    guard
      let part = memory.region(containing: address) ?? memory.region(containing: address &- 1),
      let mapping = snapshot.mapping(containing: address), let last = part.range.last,
      mapping.range.contains(last), let next = memory.region(above: last),
      mapping.range.contains(next.range)
    else { return nil }
    return next
  }

  /// The stack that an address is on: what was captured around it, with the rest of its mapping.
  func stack(around address: Address) -> AddressRange? {
    guard let region = snapshot.memory.region(containing: address) else { return nil }
    guard let last = snapshot.mapping(containing: address)?.range.last,
      !region.range.contains(last), last > address
    else { return region.range }
    return AddressRange(from: region.address, through: last)
  }
}
