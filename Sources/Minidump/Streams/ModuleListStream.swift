internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_MODULE_LIST, with CodeView records of the kind `BpEL`.
  ///
  /// The executable is first, because readers treat the first module as the main module.
  ///
  /// Source: Microsoft minidumpapiset.h; Breakpad `minidump_format.h`, MDCVInfoELF.
  mutating func encodeModuleList() -> MinidumpLocation {
    var entries: [(module: ModuleSnapshot, name: UInt32, record: MinidumpLocation)] = []
    for module in modules {
      entries.append((module, buffer.appendString(module.path), appendCodeView(of: module)))
    }
    return buffer.appendList(entries) { buffer, entry in
      buffer.append(entry.module.address)
      buffer.append(UInt32(clamping: entry.module.size))
      // The checksum and the time stamp are 0.
      buffer.appendZeros(8)
      buffer.append(entry.name)
      // VS_FIXEDFILEINFO is empty, because an ELF image has no such version.
      buffer.appendZeros(52)
      buffer.append(entry.record)
      // The location of the miscellaneous record, which does not exist, and two reserved fields.
      buffer.appendZeros(8 + 16)
    }
  }

  private mutating func appendCodeView(of module: ModuleSnapshot) -> MinidumpLocation {
    guard !module.buildID.isEmpty, module.buildID.count < 32 << 10 else { return .none }
    buffer.align(to: 4)
    let start = buffer.rva
    buffer.append(MinidumpFormat.codeViewELF)
    buffer.append(module.buildID)
    return buffer.location(from: start)
  }

  /// The modules to write: at most 2,048 that do not overlap.
  ///
  /// If there are more, the main module has priority, then the modules that a thread executes, then those with the
  /// lowest addresses.
  func listedModules() -> [ModuleSnapshot] {
    var modules: [ModuleSnapshot] = []
    for module in snapshot.modules.sorted(by: { $0.address < $1.address })
    where module.size > 0 && module.range.end != nil {
      // Some readers drop the whole list if two modules overlap. So a module that overlaps the next module is cut at
      // the start of the next module, as Breakpad's reader does on Linux.
      guard let last = modules.last, !last.range.ends(atOrBelow: module.address) else {
        modules.append(module)
        continue
      }
      if let distance = module.address.distance(above: last.address), distance > 0 {
        modules[modules.count - 1].size = distance
        modules.append(module)
      }
    }
    let main = snapshot.mainModuleAddress(in: modules)
    if modules.count > MinidumpFormat.maximumModules {
      let pointers = threads.compactMap { $0.context?.instructionPointer ?? $0.instructionPointer }
        .sorted()
      func rank(_ module: ModuleSnapshot) -> Int {
        if module.address == main { return 0 }
        // The index of the lowest instruction pointer that is not below the module; if it is above the module, no
        // pointer is inside.
        let index = pointers.partitioningIndex { $0 >= module.address }
        return index < pointers.count && module.contains(pointers[index]) ? 1 : 2
      }
      modules = modules.enumerated().map { (rank($0.element), $0.offset, $0.element) }
        .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        .prefix(MinidumpFormat.maximumModules).map(\.2)
    }
    if let index = modules.firstIndex(where: { $0.address == main }), index > 0 {
      modules.insert(modules.remove(at: index), at: 0)
    }
    return modules
  }
}

extension MinidumpDecoder {
  /// Reads MINIDUMP_MODULE_LIST, in which the executable is first by convention.
  mutating func decodeModuleList() {
    var modules: [ModuleSnapshot] = []
    for entry in file.entries(of: .moduleList, size: MinidumpFormat.moduleSize) {
      guard let address = file.integer(at: entry, width: 8),
        let size = file.integer(at: entry + 8, width: 4),
        let nameRVA = file.integer(at: entry + 20, width: 4)
      else { break }
      let path = file.string(at: nameRVA)
      if path == nil { file.note("a module's name is damaged") }
      modules.append(
        ModuleSnapshot(
          address: Address(address), size: size, path: path ?? "", buildID: buildID(at: entry + 76))
      )
    }
    mainModulePath = modules.first.flatMap { $0.path.isEmpty ? nil : $0.path }
    let sorted = modules.enumerated()
      .sorted { ($0.element.address, $0.offset) < ($1.element.address, $1.offset) }
    snapshot.modules = sorted.map(\.element)
    moduleIndices = Array(repeating: 0, count: modules.count)
    for (index, module) in sorted.enumerated() { moduleIndices[module.offset] = index }
  }

  /// The build ID in a CodeView record.
  ///
  /// In a record of the kind `RSDS` from Linux, the GUID consists of the build ID's first 16 bytes. For such a record,
  /// these 16 bytes are returned.
  private mutating func buildID(at location: Int) -> [UInt8] {
    guard let range = file.location(at: location) else {
      file.note("a module's CodeView record reaches past the end of the file")
      return []
    }
    guard range.count > 4, let kind = file.integer(at: range.lowerBound, width: 4) else {
      return []
    }
    let contents = range.lowerBound + 4..<range.upperBound
    switch UInt32(truncatingIfNeeded: kind) {
    case MinidumpFormat.codeViewELF:
      return contents.count <= 4096 ? file.copy(contents) ?? [] : []
    case MinidumpFormat.codeViewPDB70:
      guard contents.count >= 16 else { return [] }
      let guid = file.bytes.slice(contents.lowerBound..<contents.lowerBound + 16)
      return guid.flatMap(ReportID.init(guidBytes:))?.bytes ?? []
    default:
      return []
    }
  }
}
