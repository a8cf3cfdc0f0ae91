internal import Glibc
internal import IntermediateDump
package import ProcessSnapshot

extension SymbolSource {
  /// Finds variables and functions of a module by their linkage names, in a file of the build that crashed.
  ///
  /// - Returns: for each name that was found, the symbol's address in the process.
  package func addresses(of names: [String], in module: ModuleSnapshot) -> [String: Address] {
    symbols(of: module)?.addresses(of: names, in: module) ?? [:]
  }
}

extension ModuleSymbols {
  /// Finds the addresses of functions and variables by their linkage names; the result lacks names that are not found.
  func addresses(of names: [String], in module: ModuleSnapshot) -> [String: Address] {
    var found: [String: Address] = [:]
    for file in files.all {
      for table in file.elf.sections where NamedSymbols.isTable(table) {
        let missing = names.filter { found[$0] == nil }
        guard !missing.isEmpty else { return found }
        let more = NamedSymbols.addresses(of: missing, in: table, of: file.elf, limit)
        found.merge(more.mapValues { processAddress($0, module) }) { first, _ in first }
      }
    }
    return found
  }
}

/// Searches a symbol table for a few names.
///
/// `SymbolTable` cannot be used for this search, because it contains only symbols in code, sorted by address.
///
/// Source: System V ABI, chapter 4 (`Elf64_Sym`).
enum NamedSymbols {
  private static let (symtab, strtab, dynsym): (UInt32, UInt32, UInt32) = (2, 3, 11)
  private static let symbolSize = 24
  /// The maximum number of symbols that are examined; `maximumStringsSize` is the maximum number of bytes of names.
  private static let maximumSymbolCount = 8 << 20
  private static let maximumStringsSize: UInt64 = 256 << 20
  /// The maximum number of offsets in the string table that are recorded for one name.
  ///
  /// A name can occur at several offsets, because longer names can end with it.
  private static let maximumPlaces = 64

  static func isTable(_ section: ELFFile.Section) -> Bool {
    (section.type == symtab || section.type == dynsym) && section.size > 0
  }

  /// Returns the link-time addresses of the names that a table contains.
  static func addresses(
    of names: [String], in table: ELFFile.Section, of elf: borrowing ELFFile, _ limit: WorkLimit
  ) -> [String: Address] {
    guard Int(table.link) < elf.sections.count else { return [:] }
    let strings = elf.sections[Int(table.link)]
    guard strings.type == strtab, strings.size <= maximumStringsSize else { return [:] }
    let places = places(of: names, in: strings, of: elf, limit)
    guard !places.isEmpty else { return [:] }
    var found: [String: Address] = [:]
    let count = Int(
      clamping: min(table.size / UInt64(symbolSize), UInt64(maximumSymbolCount)))
    let chunk = 1 << 15
    for index in stride(from: 0, to: count, by: chunk) {
      let inChunk = min(chunk, count - index)
      guard limit.spend(inChunk),
        let bytes = elf.file.bytes(
          at: table.fileOffset.clampedAdding(UInt64(index * symbolSize)),
          count: inChunk * symbolSize)
      else { return found }
      for start in stride(from: 0, to: bytes.count, by: symbolSize) {
        guard let place = bytes.littleEndian(at: start, as: UInt32.self), let name = places[place],
          // The section index 0 means that the symbol is not defined in this file.
          bytes.littleEndian(at: start + 6, width: 2) ?? 0 != 0,
          let address = bytes.littleEndian(at: start + 8, as: UInt64.self)
        else { continue }
        found[name] = found[name] ?? Address(address)
      }
      if found.count == names.count { break }
    }
    return found
  }

  /// Returns the offsets in a string table at which one of the names occurs.
  private static func places(
    of names: [String], in strings: ELFFile.Section, of elf: borrowing ELFFile, _ limit: WorkLimit
  ) -> [UInt32: String] {
    let wanted = names.map { (name: $0, bytes: Array($0.utf8)) }
    let overlap = UInt64((wanted.map(\.bytes.count).max() ?? 0) + 1)
    var places: [UInt32: String] = [:]
    var counts: [String: Int] = [:]
    let step: UInt64 = 1 << 20
    var start: UInt64 = 0
    while start < strings.size {
      let size = min(step.clampedAdding(overlap), strings.size &- start)
      guard limit.spend(Int(clamping: size / 16)),
        let chunk = elf.file.bytes(
          at: strings.fileOffset.clampedAdding(start), count: Int(clamping: size))
      else { break }
      forEachEnd(in: chunk) { end in
        for (name, bytes) in wanted
        where bytes.count <= end && counts[name, default: 0] < maximumPlaces
          && chunk[end - bytes.count..<end].elementsEqual(bytes)
        {
          places[UInt32(clamping: start &+ UInt64(end - bytes.count))] = name
          counts[name, default: 0] += 1
        }
      }
      start = start.clampedAdding(step)
    }
    return places
  }

  /// Visits the positions of all zero bytes in a chunk, each of which ends a name.
  private static func forEachEnd(in chunk: [UInt8], _ body: (Int) -> Void) {
    unsafe chunk.withUnsafeBytes { chunk in
      guard let base = chunk.baseAddress else { return }
      var place = 0
      while place < chunk.count, let found = unsafe memchr(base + place, 0, chunk.count - place) {
        place = unsafe UnsafeRawPointer(found) - base
        body(place)
        place += 1
      }
    }
  }
}
