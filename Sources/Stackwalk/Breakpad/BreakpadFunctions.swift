internal import ProcessSnapshot

/// Writes the FUNC records of a module, with lines and inlined calls, and its PUBLIC records.
///
/// A function has the same name as in reports: the name in the symbol table, otherwise the name in the debug
/// information.
struct BreakpadFunctions {
  private let elf: ELFImage
  private let information: DebugInformation?
  private let table: SymbolTable
  private let base: Address
  private let limit: WorkLimit
  private var claimed = ClaimedRanges()
  private(set) var names: BreakpadNames

  init(of image: ELFImage, base: Address, _ limit: WorkLimit) {
    elf = image
    information = DebugInformation(of: image, limit: limit)
    table = SymbolTable(of: image.elf, limit)
    self.base = base
    self.limit = limit
    names = BreakpadNames(limit)
  }

  /// A note about debug information that could not be read; nil if there is nothing to note.
  var note: String? { information?.note }

  mutating func write(to output: inout BreakpadOutput) {
    for unit in 0..<(information?.unitCount ?? 0) { writeUnit(unit, to: &output) }
    writeSymbols(to: &output)
  }

  // MARK: - Debug information

  private mutating func writeUnit(_ unit: Int, to output: inout BreakpadOutput) {
    guard let information else { return }
    var batch: [AddressRange] = []
    /// Maps the number of a file in the unit to the number of the same file in the FILE records.
    var files: [UInt16: Int] = [:]
    for part in information.functions(ofUnit: unit) {
      guard part.range.start >= batch.last?.clampedEnd ?? 0, !claimed.overlaps(part.range),
        limit.spend(16), limit.take(2 * MemoryLayout<AddressRange>.stride)
      else { continue }
      batch.append(part.range)
      let name =
        table.entry(containing: part.range.start).flatMap { table.name(of: $0, in: elf.elf) }
        ?? information.name(of: part)
      output.addLine("FUNC \(part.range.record(base)) 0 \(BreakpadNames.demangled(name))")
      var names = self.names
      self.names = BreakpadNames(limit)
      func number(_ file: UInt16?) -> Int {
        if let file, let known = files[file] { return known }
        let number = names.number(
          ofFile: file.flatMap { information.path(of: $0, for: part) })
        if let file { files[file] = number }
        return number
      }
      information.visitInlinedCalls(of: part) { call in
        let ranges = call.ranges.map { $0.record(base) }.joined(separator: " ")
        let origin = names.number(ofFunction: call.name)
        output.addLine("INLINE \(call.depth) \(call.line) \(number(call.file)) \(origin) \(ranges)")
      }
      information.visitLines(of: part) { range, row in
        output.addLine("\(range.record(base)) \(row.line) \(number(row.file))")
      }
      self.names = names
    }
    claimed.add(batch)
  }

  // MARK: - Symbol table

  /// Writes symbols for which there is no debug information.
  ///
  /// A symbol inside a function that already has a FUNC record is skipped. A function of known size that overlaps no
  /// function with debug information becomes a FUNC record without lines. Any other symbol becomes a PUBLIC record.
  private mutating func writeSymbols(to output: inout BreakpadOutput) {
    var end: Address = 0
    for entry in table.entries {
      guard limit.spend(16), entry.address >= end, !claimed.contains(entry.address),
        let name = table.name(of: entry, in: elf.elf)
      else { continue }
      let range = AddressRange(start: entry.address, byteCount: entry.size)
      guard entry.isFunction, entry.isMeasured, entry.size > 0, range.byteCount == entry.size,
        !claimed.overlaps(range)
      else {
        output.addLine("PUBLIC \(entry.address.record(base)) 0 \(BreakpadNames.demangled(name))")
        continue
      }
      end = range.clampedEnd
      output.addLine("FUNC \(range.record(base)) 0 \(BreakpadNames.demangled(name))")
    }
  }
}

extension Address {
  /// The address in the form that records use, which is hexadecimal and relative to the module's base.
  func record(_ base: Address) -> String { String(wrappedDistance(above: base), radix: 16) }
}

extension AddressRange {
  /// The start and the size in hexadecimal, as in a record of Breakpad's text.
  func record(_ base: Address) -> String {
    "\(start.record(base)) \(String(byteCount, radix: 16))"
  }
}
