internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The C++ exception that the crashed thread was handling when the process aborted.
///
/// In a crash, the handler records the same data (`CxxExceptionSection.swift`). Functions in a core file cannot be
/// called, so the address of the thread's exception globals is computed from the machine code of `__cxa_get_globals`.
/// Only exceptions of libstdc++ are recognized. On arm64, the type and the text of the exception are never found.
///
/// Source: Itanium C++ ABI: Exception Handling, 2.2.1 and 2.2.2, and 2.9.5 (RTTI layout); libstdc++
/// libsupc++/unwind-cxx.h.
struct CoreCxxException {
  private static let globalsName = "__cxa_get_globals"
  /// The size of libstdc++'s `__cxa_exception`, which precedes the object.
  private static let headerSize: UInt64 = 112
  private static let depthLimit = 16
  private static let (nameLimit, messageLimit) = (1024, 4096)

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource
  private var memory: MemorySnapshot { snapshot.memory }

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  /// The exception; nil if the core file shows that no exception was caught, or if libstdc++ is not found.
  ///
  /// If it is not known whether an exception was caught, the result is an exception without a type name. An exception
  /// whose type is not known has no type name either.
  var exception: CxxException? {
    let modules = snapshot.modules.linking(["libstdc++.so"])
    for module in modules {
      let found = symbols.addresses(of: [Self.globalsName], in: module)
      guard let function = found[Self.globalsName] else { continue }
      guard let globals = globals(function, module), let header = memory.word(at: globals) else {
        return CxxException(typeName: nil)
      }
      return header == 0 ? nil : exception(Address(header), Classes(symbols, modules))
    }
    // If libstdc++ is loaded but its symbols are not available, it is not known whether an exception was caught. In
    // this case, an exception without a type is assumed.
    return modules.allSatisfy { $0.source == .program } ? nil : CxxException(typeName: nil)
  }

  /// The first words of `std::type_info` objects, which distinguish classes with one base class from classes with
  /// several or virtual base classes.
  private struct Classes {
    private(set) var singleBase: Set<UInt64> = []
    private(set) var severalBases: Set<UInt64> = []

    /// - Parameter modules: all modules that may define the C++ runtime's variables. The program is one of them,
    ///   because it may contain a copy of the library's variables.
    init(_ symbols: SymbolSource, _ modules: [ModuleSnapshot]) {
      let (single, several) = (
        "_ZTVN10__cxxabiv120__si_class_type_infoE", "_ZTVN10__cxxabiv121__vmi_class_type_infoE"
      )
      for module in modules {
        // The first word of a `std::type_info` object points to the third word of its own class's vtable, 16 bytes
        // after the vtable's symbol.
        for (name, address) in symbols.addresses(of: [single, several], in: module) {
          if name == single { singleBase.insert(address.value &+ 16) }
          if name == several { severalBases.insert(address.value &+ 16) }
        }
      }
    }
  }

  /// The address of the crashed thread's exception globals; nil on arm64, or if the core file lacks the needed data, or
  /// if the function's machine code is not recognized.
  private func globals(_ function: Address, _ module: ModuleSnapshot) -> Address? {
    guard snapshot.architecture == .x86_64, let pointer = snapshot.crashedThread?.threadPointer,
      let code = memory.bytes(at: function, count: 48)
    else { return nil }
    func place(of bytes: [UInt8]) -> Int? {
      (0..<32).first { code.dropFirst($0).starts(with: bytes) }
    }
    // `lea rdi, [rip + distance]` loads the address of two words: the module's TLS ID, and the offset in the module's
    // TLS block.
    if let start = place(of: [0x48, 0x8D, 0x3D]),
      let distance = code.littleEndian(at: start + 3, as: Int32.self),
      let offset = memory.word(
        at: function &+ UInt64(start + 7 + 8) &+ UInt64(bitPattern: Int64(distance))),
      let block = ThreadLocals(snapshot: snapshot, symbols: symbols).block(of: module),
      offset < block.size
    {
      return pointer &+ block.offset &+ offset
    }
    // The code adds a distance to the thread pointer: `mov rax, fs:0`, followed by `add rax, distance` or
    // `lea rax, [rax + distance]`.
    guard let start = place(of: [0x64, 0x48, 0x8B, 0x04, 0x25, 0, 0, 0, 0, 0x48]) else {
      return nil
    }
    let next = Array(code.dropFirst(start + 10).prefix(2))
    let width = next.first == 0x05 ? 1 : next == [0x8D, 0x80] ? 2 : 0
    guard width > 0, let distance = code.littleEndian(at: start + 10 + width, as: Int32.self)
    else { return nil }
    return pointer &+ UInt64(bitPattern: Int64(distance))
  }

  private func exception(_ header: Address, _ classes: Classes) -> CxxException {
    let unknown = CxxException(typeName: nil)
    // The exception class is "GNUCC++" followed by a byte: 0, or 1 for a dependent exception, which refers to another
    // exception (`std::rethrow_exception`).
    let object: UInt64
    switch memory.word(at: header &+ 80) {
    case 0x474E_5543_432B_2B00: object = header.value &+ Self.headerSize
    case 0x474E_5543_432B_2B01: object = memory.word(at: header) ?? 0
    default: return unknown
    }
    guard let type = memory.word(at: Address(object) &- Self.headerSize), let name = name(of: type)
    else { return unknown }
    return CxxException(typeName: name, message: message(of: Address(object), type, name, classes))
  }

  private func name(of type: UInt64) -> String? {
    memory.word(at: Address(type) &+ 8)
      .flatMap { memory.text(at: Address($0), limit: Self.nameLimit) }
  }

  /// The text of a thrown object; nil if its type stores no text, or stores the text in an unknown way.
  private func message(
    of object: Address, _ type: UInt64, _ name: String, _ classes: Classes
  ) -> String? {
    func text(at place: Address) -> String? {
      memory.word(at: place).flatMap { memory.text(at: Address($0), limit: Self.messageLimit) }
    }
    // A thrown `const char *` and a thrown `std::string` both begin with a pointer to the text.
    let strings: Set = [
      "PKc", "Pc", "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    ]
    if strings.contains(name) { return text(at: object) }
    // In a std::runtime_error or std::logic_error, the pointer to the text follows the pointer to the vtable.
    return standardError(in: type, classes, depth: 0).flatMap { text(at: object &+ $0 &+ 8) }
  }

  /// The offset of the std::runtime_error or std::logic_error base in an object of a derived class; nil if none is
  /// found.
  private func standardError(
    in type: UInt64, _ classes: Classes, depth: Int
  ) -> UInt64? {
    guard depth < Self.depthLimit, let kind = memory.word(at: Address(type)), kind != 0 else {
      return nil
    }
    if ["St13runtime_error", "St11logic_error"].contains(name(of: type) ?? "") { return 0 }
    if classes.singleBase.contains(kind) {
      return memory.word(at: Address(type) &+ 16)
        .flatMap { standardError(in: $0, classes, depth: depth + 1) }
    }
    guard classes.severalBases.contains(kind),
      let sizes = memory.word(at: Address(type) &+ 16)
    else { return nil }
    for index in 0..<min(sizes >> 32, 8) {
      let entry = Address(type) &+ 24 &+ index &* 16
      // A virtual base class is not examined, because its offset is stored in the object's vtable instead of the type
      // information.
      guard let base = memory.word(at: entry), let flags = memory.word(at: entry &+ 8),
        flags & 1 == 0, depth + 1 < Self.depthLimit,
        let offset = standardError(in: base, classes, depth: Self.depthLimit / 2 + depth)
      else { continue }
      return offset &+ (flags >> 8)
    }
    return nil
  }
}
