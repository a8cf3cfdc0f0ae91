internal import IntermediateDump
package import ProcessSnapshot

/// The functions and labels in the code of one ELF file, sorted by address.
///
/// The table takes 24 bytes for each entry; names are read from the file when they are needed.
///
/// Source: System V ABI, chapter 4 (`Elf64_Sym`).
package struct SymbolTable {
  package struct Entry {
    package var address: Address
    /// The size in bytes; if the table does not contain a size, the distance to the next entry or the end of the code.
    package var size: UInt64
    /// The offset of the name in the string table.
    var name: UInt32
    /// The rank of the name.
    ///
    /// If several names at one address have an equally good form (see `order`), the name with the highest rank is used.
    package var rank: UInt8
    /// False if the table does not contain the size.
    var isMeasured = true

    /// True for a function, and false for a label.
    var isFunction: Bool { rank >= SymbolTable.functionRank }
    /// True if the symbol names a single address and not a range of code.
    ///
    /// Assembly code has such symbols inside functions.
    fileprivate var isLabel: Bool { !isFunction && size == 0 }
  }

  /// The maximum number of symbols that are read; a longer table is cut.
  private static let maximumSymbolCount = 8 << 20
  private static let symbolSize = 24
  private static let symtab: UInt32 = 2
  private static let dynsym: UInt32 = 11
  private static let strtab: UInt32 = 3
  /// The maximum number of bytes of a name; a longer name is not read.
  ///
  /// Mangled Swift names can have a few thousand bytes.
  private static let maximumNameLength = 1 << 16

  /// The lowest rank of a symbol for a function; labels have lower ranks.
  private static let functionRank: UInt8 = 4
  private static let maximumAliasCount = 16

  package private(set) var entries: [Entry] = []
  /// Other functions at the address of an entry of `entries`.
  private var aliases: [Address: [Entry]] = [:]
  private var strings: (offset: UInt64, size: UInt64) = (0, 0)

  /// Reads `.symtab`, otherwise `.dynsym`; empty if there is neither, if the table names no string table, or if the
  /// limit of time or work is reached.
  ///
  /// If a part of the table cannot be read, or the memory limit is reached, only the symbols before that part are kept.
  package init(of elf: borrowing ELFFile, _ limit: WorkLimit = WorkLimit()) {
    let sections = elf.sections
    guard
      let table = sections.first(where: { $0.type == Self.symtab && $0.size > 0 })
        ?? sections.first(where: { $0.type == Self.dynsym }),
      Int(table.link) < sections.count
    else { return }
    let names = sections[Int(table.link)]
    guard names.type == Self.strtab else { return }
    strings = (names.fileOffset, names.size)
    let code = elf.code
    read(table, of: elf, code: code, limit)
    // The sort costs steps too, because it compares each entry about twenty times and copies it.
    guard limit.spend(entries.count) else {
      entries = []
      return
    }
    entries.sort { ($0.address, $1.rank, $1.size) < ($1.address, $0.rank, $0.size) }
    removeDuplicates(limit)
    removeLabelsInFunctions()
    fillSizes(code: code)
  }

  private mutating func read(
    _ table: ELFFile.Section, of elf: borrowing ELFFile, code: AddressSet, _ limit: WorkLimit
  ) {
    let count = Int(
      clamping: min(table.size / UInt64(Self.symbolSize), UInt64(Self.maximumSymbolCount)))
    let chunk = 1 << 15
    var index = 0
    while index < count {
      let inChunk = min(chunk, count - index)
      guard limit.spend(4 * inChunk),
        limit.take(inChunk * MemoryLayout<Entry>.stride * 5 / 4)
      else { return }
      let (offset, overflow) = table.fileOffset.addingReportingOverflow(
        UInt64(index * Self.symbolSize))
      guard !overflow, let bytes = elf.file.bytes(at: offset, count: inChunk * Self.symbolSize)
      else { return }
      for start in stride(from: 0, to: bytes.count, by: Self.symbolSize) {
        guard let entry = Self.entry(bytes, start, code: code) else { continue }
        // The check for a mapping symbol reads the file again, so more steps are counted for it.
        if elf.isARM64, entry.isLabel, limit.spend(16), isMappingSymbol(entry, elf) { continue }
        entries.append(entry)
      }
      index += inChunk
    }
  }

  private static func entry(_ bytes: [UInt8], _ start: Int, code: AddressSet) -> Entry? {
    // The type must be STT_FUNC, STT_GNU_IFUNC or, for assembly symbols without a .type directive, STT_NOTYPE. It is
    // read first, because many symbols of a Swift module are those of data.
    let type = bytes[start + 4] & 15
    let binding = bytes[start + 4] >> 4
    guard type == 2 || type == 10 || type == 0,
      let name = bytes.littleEndian(at: start, as: UInt32.self),
      let section = bytes.littleEndian(at: start + 6, as: UInt16.self),
      let address = bytes.littleEndian(at: start + 8, as: UInt64.self).map({ Address($0) }),
      let size = bytes.littleEndian(at: start + 16, as: UInt64.self),
      section != 0, name != 0, code.contains(address)
    else { return nil }
    // Global symbols rank above weak ones, weak symbols above local ones, and functions above labels.
    let bindingRank: UInt8 = binding == 1 ? 2 : binding == 2 ? 1 : 0
    return Entry(
      address: address, size: size, name: name, rank: bindingRank | (type == 0 ? 0 : functionRank))
  }

  /// Checks whether a label only marks where code or data begins.
  ///
  /// Such labels are `$x` and `$d`, which can have a suffix after a dot.
  ///
  /// Source: ELF for the Arm 64-bit Architecture (AAELF64), "Mapping symbols".
  private func isMappingSymbol(_ entry: Entry, _ elf: borrowing ELFFile) -> Bool {
    guard let offset = nameOffset(of: entry), let name = elf.file.bytes(at: offset, count: 3)
    else { return false }
    return name[0] == 0x24 && (name[1] == 0x78 || name[1] == 0x64)
      && (name[2] == 0 || name[2] == 0x2E)
  }

  private mutating func removeDuplicates(_ limit: WorkLimit) {
    var count = 0
    for index in entries.indices {
      let entry = entries[index]
      guard count > 0, entries[count - 1].address == entry.address else {
        entries[count] = entry
        count += 1
        continue
      }
      let last = entries[count - 1]
      let areFunctions = min(entry.rank, last.rank) >= Self.functionRank
      // Each alias is counted as 160 bytes, about what a new entry of `aliases` takes with its array.
      if areFunctions, aliases[entry.address, default: []].count < Self.maximumAliasCount,
        limit.take(160)
      {
        aliases[entry.address, default: []].append(entry)
      }
    }
    entries.removeLast(entries.count - count)
  }

  /// Removes labels inside functions of known size, such as the label that glibc has after a system call instruction.
  private mutating func removeLabelsInFunctions() {
    var end: Address = 0
    entries.removeAll { entry in
      if entry.isLabel { return entry.address < end }
      if entry.isFunction { end = max(end, entry.address.clampedAdding(entry.size)) }
      return false
    }
  }

  /// Returns a key that sorts the names of one function, the best name first.
  ///
  /// Names that neither begin with two underscores nor have an old version come first. If two names are equal in this
  /// respect, the one with the higher `rank` comes first. If the ranks are equal too, a symbol with a size comes first.
  ///
  /// For example, libc has `free`, `__libc_free`, `__GI___libc_free` and `cfree@GLIBC_2.2.5` at one address. A single
  /// `@` precedes an old version, which is not the default version.
  private static func order(_ name: String, _ entry: Entry) -> (Int, Int, Int) {
    let isOld = name.contains("@") && !name.contains("@@")
    return (
      (isOld ? 2 : 0) + (name.hasPrefix("__") ? 1 : 0), -Int(entry.rank), entry.size == 0 ? 1 : 0
    )
  }

  private mutating func fillSizes(code: AddressSet) {
    for index in entries.indices where entries[index].size == 0 {
      let address = entries[index].address
      entries[index].isMeasured = false
      if index + 1 < entries.count {
        entries[index].size = entries[index + 1].address.wrappedDistance(above: address)
      } else if let last = code.range(around: address)?.last,
        let distance = last.distance(above: address)
      {
        entries[index].size = distance &+ 1
      }
    }
  }

  /// Finds the function that contains a link-time address.
  func entry(containing address: Address) -> Entry? {
    let end = entries.partitioningIndex { $0.address > address }
    // Labels inside the function may have entries between the function's start and the address, so up to eight entries
    // are tried.
    for index in stride(from: end - 1, through: max(0, end - 8), by: -1) {
      let entry = entries[index]
      if address.wrappedDistance(above: entry.address) < entry.size { return entry }
    }
    return nil
  }

  /// Finds the best name of an entry's function; nil if the string table has no name for it.
  package func name(of entry: Entry, in elf: borrowing ELFFile) -> String? {
    var best: (name: String, order: (Int, Int, Int))?
    for candidate in [entry] + (aliases[entry.address] ?? []) {
      guard let name = ownName(of: candidate, in: elf) else { continue }
      let order = Self.order(name, candidate)
      // If several names are equally good (a C++ constructor can have two symbols at one address), the last one is
      // used, as in debuggers.
      if best.map({ order <= $0.order }) ?? true { best = (name, order) }
    }
    // Remove the version from a name such as "memcpy@@GLIBC_2.14".
    return best.map { best in
      best.name.utf8.firstIndex(of: 0x40).map { String(best.name[..<$0]) } ?? best.name
    }
  }

  /// The offset of an entry's name in the file; nil if the name is not within the string table.
  private func nameOffset(of entry: Entry) -> UInt64? {
    let start = UInt64(entry.name)
    let (offset, overflow) = strings.offset.addingReportingOverflow(start)
    return start < strings.size && !overflow ? offset : nil
  }

  /// Reads the name of one entry, ignoring aliases; a version such as `@GLIBC_2.2.5` stays in the name.
  private func ownName(of entry: Entry, in elf: borrowing ELFFile) -> String? {
    guard let offset = nameOffset(of: entry) else { return nil }
    let left = strings.size &- UInt64(entry.name)
    let room = Int(clamping: min(left, UInt64(Self.maximumNameLength)))
    guard let name = elf.file.string(at: offset, limit: room), !name.isEmpty else {
      return nil
    }
    return name
  }
}
