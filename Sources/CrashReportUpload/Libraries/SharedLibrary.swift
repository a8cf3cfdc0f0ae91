internal import IntermediateDump
internal import Stackwalk

/// The names that a program's or library's file defines and uses, as the dynamic linker reads them.
///
/// Source: System V ABI, chapter 5, Dynamic Linking; Linux Standard Base, Symbol Versioning.
struct SharedLibrary {
  let path: String
  let buildID: [UInt8]
  /// The names of the libraries that this one needs, in the file's order.
  private(set) var needed: [String] = []
  /// The directories in which the libraries that this one needs are searched first: before (`rPath`) and after
  /// (`runPath`) those of LD_LIBRARY_PATH.
  private(set) var rPath: [String] = []
  private(set) var runPath: [String] = []
  /// The symbols that the dynamic linker looks up by name when it loads the library.
  private(set) var references: [Int] = []

  private let names: SymbolNames
  private let symbols: DynamicSymbols
  private let versions: SymbolVersions
  /// The symbols that a program has copied from a library, which uses the copy.
  ///
  /// Source: System V ABI, AMD64 Architecture Processor Supplement, R_X86_64_COPY.
  private var copied: Set<Int> = []

  /// Reads a file; nil if it cannot be read, or has no table of dynamic symbols.
  init?(path: String) {
    guard let file = try? ELFFile(path: path),
      let table = file.sections.firstIndex(where: { $0.type == SectionType.dynamicSymbols }),
      let symbols = file.bytes(of: file.sections[table]),
      let strings = file.sections.indices.contains(Int(file.sections[table].link))
        ? file.bytes(of: file.sections[Int(file.sections[table].link)]) : nil
    else { return nil }
    self.path = path
    buildID = file.buildID
    names = SymbolNames(bytes: strings + [0])
    self.symbols = DynamicSymbols(bytes: symbols)
    versions = SymbolVersions(of: file)
    let bindsOwn = readDynamic(file)
    references = readRelocations(file, table).filter { index in
      guard let symbol = self.symbols[index], symbol.isBound else { return false }
      return !symbol.isDefined || !(bindsOwn || symbol.isProtected)
    }
  }

  // MARK: - Names

  /// Calls a function with the name of a symbol, as C has it.
  func withName<Result>(of index: Int, _ body: (UnsafePointer<CChar>) -> Result) -> Result? {
    symbols[index].flatMap { unsafe names.withText(at: $0.name, body) }
  }

  func name(of index: Int) -> String { symbols[index].map { names[$0.name] } ?? "" }

  /// The version that a reference asks for; nil if it accepts any.
  func version(of index: Int) -> String? { versions[index].map { names[$0] } }

  /// The names that the library defines for others, with their versions; a definition without a version is for references
  /// to all versions.
  var definitions: [(name: String, version: String?)] {
    symbols.indices.compactMap { index in
      guard let symbol = symbols[index], symbol.isBound, symbol.isDefined,
        !copied.contains(index)
      else { return nil }
      return (names[symbol.name], version(of: index))
    }
  }

  // MARK: - The parts of a file

  fileprivate enum SectionType {
    static let relocations: UInt32 = 4
    static let dynamic: UInt32 = 6
    static let dynamicSymbols: UInt32 = 11
    static let versionDefinitions: UInt32 = 0x6FFF_FFFD
    static let versionNeeds: UInt32 = 0x6FFF_FFFE
    static let symbolVersions: UInt32 = 0x6FFF_FFFF
  }

  /// Reads the section `.dynamic`.
  ///
  /// - Returns: true if the library binds the names that it defines to its own definitions.
  private mutating func readDynamic(_ file: borrowing ELFFile) -> Bool {
    guard let section = file.sections.first(where: { $0.type == SectionType.dynamic }),
      let entries = file.bytes(of: section)
    else { return false }
    var bindsOwn = false
    for offset in stride(from: 0, to: entries.count, by: 16) {
      guard let tag = entries.littleEndian(at: offset, as: UInt64.self),
        let value = entries.littleEndian(at: offset + 8, as: UInt64.self)
      else { break }
      let text = { [names] in names[Int(clamping: value)] }
      switch tag {
      case 1: needed.append(text())
      case 15: rPath = directories(text())
      case 29: runPath = directories(text())
      // DT_SYMBOLIC, and DF_SYMBOLIC in DT_FLAGS.
      case 16: bindsOwn = true
      case 30: bindsOwn = bindsOwn || value & 2 != 0
      default: break
      }
    }
    // The dynamic linker ignores DT_RPATH if there is DT_RUNPATH.
    if !runPath.isEmpty { rPath = [] }
    return bindsOwn
  }

  /// The directories of a search path, with `$ORIGIN` replaced; one with another variable is left out.
  private func directories(_ text: String) -> [String] {
    let origin = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    return text.split(separator: ":").map {
      String($0).replacing("${ORIGIN}", with: origin).replacing("$ORIGIN", with: origin)
    }.filter { !$0.contains("$") }
  }

  /// Reads the relocations.
  ///
  /// - Returns: the symbols that they name, in ascending order.
  private mutating func readRelocations(_ file: borrowing ELFFile, _ table: Int) -> [Int] {
    // R_AARCH64_COPY or R_X86_64_COPY.
    #if arch(arm64)
      let copy: UInt64 = 1024
    #else
      let copy: UInt64 = 5
    #endif
    var isUsed = [Bool](repeating: false, count: symbols.count)
    for section in file.sections
    where section.type == SectionType.relocations && Int(section.link) == table {
      guard let entries = file.bytes(of: section) else { continue }
      for offset in stride(from: 8, to: entries.count, by: 24) {
        guard let info = entries.littleEndian(at: offset, as: UInt64.self) else { break }
        let index = Int(clamping: info >> 32)
        guard index > 0, isUsed.indices.contains(index) else { continue }
        if info & 0xFFFF_FFFF == copy { copied.insert(index) } else { isUsed[index] = true }
      }
    }
    return isUsed.indices.filter { isUsed[$0] }
  }
}

/// The texts of a file, one after the other, each ended by a NUL.
private struct SymbolNames {
  let bytes: [UInt8]

  /// The text at an offset; empty if the offset is outside the table.
  subscript(offset: Int) -> String {
    String(decoding: bytes.dropFirst(offset).prefix { $0 != 0 }, as: UTF8.self)
  }

  func withText<Result>(at offset: Int, _ body: (UnsafePointer<CChar>) -> Result) -> Result? {
    unsafe bytes.withUnsafeBytes { bytes in
      guard offset < bytes.count, let base = bytes.baseAddress else { return nil }
      return unsafe body(base.assumingMemoryBound(to: CChar.self) + offset)
    }
  }
}

/// The table of dynamic symbols (`Elf64_Sym`).
private struct DynamicSymbols {
  let bytes: [UInt8]

  struct Symbol {
    /// The offset of the name.
    let name: Int
    /// True for a name that the dynamic linker looks up: neither local, nor of a thread's variable.
    let isBound: Bool
    let isDefined: Bool
    let isProtected: Bool
  }

  var count: Int { bytes.count / 24 }
  var indices: Range<Int> { 0..<count }

  subscript(index: Int) -> Symbol? {
    guard let name = bytes.littleEndian(at: index * 24, as: UInt32.self),
      let info = bytes.littleEndian(at: index * 24 + 4, as: UInt8.self),
      let other = bytes.littleEndian(at: index * 24 + 5, as: UInt8.self),
      let section = bytes.littleEndian(at: index * 24 + 6, as: UInt16.self)
    else { return nil }
    // STB_LOCAL and STT_TLS; the visibility STV_PROTECTED.
    return Symbol(
      name: Int(name), isBound: info >> 4 != 0 && info & 15 != 6, isDefined: section != 0,
      isProtected: other & 3 == 3)
  }
}

/// The versions of dynamic symbols, as offsets of their names.
private struct SymbolVersions {
  private var ofSymbols: [UInt8] = []
  private var names: [UInt16: Int] = [:]

  init(of file: borrowing ELFFile) {
    for section in file.sections {
      switch section.type {
      case SharedLibrary.SectionType.symbolVersions: ofSymbols = file.bytes(of: section) ?? []
      case SharedLibrary.SectionType.versionNeeds: readNeeds(file.bytes(of: section) ?? [])
      case SharedLibrary.SectionType.versionDefinitions:
        readDefinitions(file.bytes(of: section) ?? [])
      default: break
      }
    }
  }

  /// The version of a symbol; nil if it has none.
  subscript(index: Int) -> Int? {
    ofSymbols.littleEndian(at: index * 2, as: UInt16.self).flatMap { names[$0 & 0x7FFF] }
  }

  /// Reads `Elf64_Verneed` and `Elf64_Vernaux`.
  private mutating func readNeeds(_ bytes: [UInt8]) {
    for need in entries(of: bytes, from: 0, next: 12) {
      let first = Int(bytes.littleEndian(at: need + 8, as: UInt32.self) ?? 0)
      for version in entries(of: bytes, from: need + first, next: 12) {
        if let index = bytes.littleEndian(at: version + 6, as: UInt16.self),
          let name = bytes.littleEndian(at: version + 8, as: UInt32.self)
        {
          names[index & 0x7FFF] = Int(name)
        }
      }
    }
  }

  /// Reads `Elf64_Verdef`, each with its first `Elf64_Verdaux`.
  private mutating func readDefinitions(_ bytes: [UInt8]) {
    for version in entries(of: bytes, from: 0, next: 16) {
      guard let flags = bytes.littleEndian(at: version + 2, as: UInt16.self),
        let index = bytes.littleEndian(at: version + 4, as: UInt16.self),
        let first = bytes.littleEndian(at: version + 12, as: UInt32.self),
        let name = bytes.littleEndian(at: version + Int(first), as: UInt32.self),
        // VER_FLG_BASE names the file, and is no version.
        flags & 1 == 0
      else { continue }
      names[index & 0x7FFF] = Int(name)
    }
  }

  /// The offsets of the entries of a list, each of which contains the distance to the next one.
  private func entries(of bytes: [UInt8], from start: Int, next: Int) -> [Int] {
    var offsets: [Int] = []
    var offset = start
    while let distance = bytes.littleEndian(at: offset + next, as: UInt32.self) {
      offsets.append(offset)
      guard distance > 0 else { break }
      offset += Int(distance)
    }
    return offsets
  }
}
