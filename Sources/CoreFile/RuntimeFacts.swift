internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk
internal import SwiftRuntime

/// Finds facts about the Swift, C and C++ runtimes in the memory of a core file: the last messages, the C++ exception
/// and the tasks.
///
/// The variables that point to the messages are looked up by name.
///
/// The handler gets the addresses of these variables from the runtime libraries. For a core file, the addresses are
/// computed from the symbols in the modules' files, which must be of the same builds.
struct RuntimeFacts {
  private static let messageLimit = 16384

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  func add(to snapshot: inout ProcessSnapshot) {
    // If no signal ended the process, a message is from an earlier failure that the process survived. The message has
    // nothing to do with the core file, so it is left out.
    if snapshot.request == nil, snapshot.exception != nil {
      snapshot.exception?.fatalMessage = fatalMessage
      snapshot.exception?.abortMessage = abortMessage
    }
    // An uncaught C++ exception may explain an abort.
    if snapshot.exception?.signal == 6 {
      snapshot.cxxException = CoreCxxException(of: snapshot, symbols).exception
    }
    snapshot.tasks = CoreTasks(of: snapshot, symbols).all
    snapshot.allTasks = allTasks
  }

  /// The limits of the search for tasks; reading from a slow disk counts, too.
  private static let searchLimits = TaskSearchLimits(
    bytes: 1 << 30, time: 10_000_000_000, .elapsed, candidates: 1 << 20)
  /// The maximum numbers of groups of tasks, and of tasks in each group, that a report keeps.
  private static let (groupLimit, recordLimit) = (4096, 4096)

  /// All tasks, including tasks that no thread was running; nil if the process did not use Swift concurrency, its
  /// runtime has another memory layout, or the runtime's variables cannot be found or read.
  private var allTasks: AllTasks? {
    TaskRuntime(in: snapshot.modules, symbols) { snapshot.memory.word(at: $0) }.map { runtime in
      TaskSearch(runtime, in: CoreMemory(snapshot), Self.searchLimits).tasks()
        .grouped(limit: Self.groupLimit, recordLimit: Self.recordLimit)
    }
  }

  /// glibc's message about an abort, which follows a size field of 4 bytes.
  ///
  /// Source: glibc sysdeps/posix/libc_fatal.c, `__abort_msg`.
  private var abortMessage: String? {
    let pointer = address(of: "__abort_msg", in: ["libc.so", "libc-2"])
    return text(after: pointer, skipping: 4)
  }

  /// The Swift runtime's message in the static variable `kFatalErrorMessage`.
  ///
  /// The variable is found by its symbol, otherwise through swift_getFatalErrorMessageBuffer(), which returns its
  /// address.
  ///
  /// Source: swift stdlib/public/runtime/Errors.cpp, `kFatalErrorMessage`.
  private var fatalMessage: String? {
    let pointer =
      address(of: "_ZL18kFatalErrorMessage", in: ["libswiftCore.so"])
      ?? address(of: "swift_getFatalErrorMessageBuffer", in: ["libswiftCore.so"])
      .flatMap(addressReturned(by:))
    return text(after: pointer, skipping: 0)
  }

  private func text(after pointer: Address?, skipping: UInt64) -> String? {
    guard let pointer, let message = snapshot.memory.word(at: pointer), message != 0 else {
      return nil
    }
    return snapshot.memory.text(at: Address(message) &+ skipping, limit: Self.messageLimit)
  }

  /// The address of a variable or a function in a library, or in the program.
  private func address(of name: String, in libraries: [String]) -> Address? {
    for module in snapshot.modules.linking(libraries) {
      if let found = symbols.addresses(of: [name], in: module)[name] { return found }
    }
    return nil
  }

  /// The address of the variable that a function returns, read from the function's machine code.
  private func addressReturned(by function: Address) -> Address? {
    guard let code = snapshot.memory.bytes(at: function, count: 32) else { return nil }
    switch snapshot.architecture {
    case .x86_64:
      // The function loads the address with `lea rax, [rip + distance]`.
      let load: [UInt8] = [0x48, 0x8D, 0x05]
      guard let start = (0..<16).first(where: { code.dropFirst($0).starts(with: load) }),
        let distance = code.littleEndian(at: start + 3, as: Int32.self)
      else { return nil }
      return function &+ UInt64(start + 7) &+ UInt64(bitPattern: Int64(distance))
    case .arm64:
      // The function loads the address with `adrp x0, page` and `add x0, x0, #offset`.
      for offset in stride(from: 0, to: 24, by: 4) {
        guard let page = code.littleEndian(at: offset, as: UInt32.self),
          page & 0x9F00_001F == 0x9000_0000,
          let add = code.littleEndian(at: offset + 4, as: UInt32.self),
          add & 0xFFC0_03FF == 0x9100_0000
        else { continue }
        let pages = Int64(page >> 5 & 0x7FFFF) << 2 | Int64(page >> 29 & 3)
        let distance = (pages << 43) >> 31
        return (function &+ UInt64(offset)).alignedDown(to: 4096)
          &+ UInt64(bitPattern: distance) &+ UInt64(add >> 10 & 0xFFF)
      }
      return nil
    }
  }
}

extension [ModuleSnapshot] {
  /// The modules that may contain the code of a library: those whose names begin with one of the given names, and the
  /// program, because the library may be linked into it.
  func linking(_ names: [String]) -> [ModuleSnapshot] {
    filter { module in names.contains { module.name.hasPrefix($0) } }
      + filter { $0.source == .program }
  }
}
