package import ProcessSnapshot

/// Finds functions, lines and unwind rules of one module in its file and its separate debug file.
package final class ModuleSymbols {
  let files: SymbolFiles
  private let firstAddress: Address
  private lazy var table = SymbolTable(of: tableFile.elf, limit)
  private lazy var frames = CFITable(of: files, limit)
  private lazy var information = makeInformation()
  let limit: WorkLimit
  private let cache: SymbolCache?
  /// The file from which the symbol table is read.
  private let tableFile: ELFImage
  /// False if the dump has no build ID of the module; whether the files match is then not known.
  let isVerified: Bool

  /// Opens those files of a module that are from the build that crashed.
  ///
  /// - Parameters:
  ///   - module: the module as the dump describes it.
  ///   - directories: directories to search in addition to the usual places.
  ///   - limit: limits time, work and memory.
  ///   - store: stores the names that were found, for use by later processes; nil to store none.
  package init(
    _ module: ModuleSnapshot, directories: SymbolDirectories = [], limit: WorkLimit = WorkLimit(),
    store: (any SymbolStore)? = nil
  ) throws(StackwalkError) {
    let files = try SymbolFiles(of: module, directories: directories, limit)
    guard let first = files.all.first, let firstAddress = first.elf.firstAddress else {
      throw StackwalkError(.notELF, path: module.path)
    }
    isVerified = !module.buildID.isEmpty
    tableFile = files.all.first(where: \.hasSymbolTable) ?? first
    self.firstAddress = firstAddress
    self.limit = limit
    self.files = files
    cache = store.flatMap { SymbolCache(of: module, files.all, in: $0) }
  }

  private func makeInformation() -> DebugInformation? {
    files.all.first(where: \.hasDebugInformation).flatMap { DebugInformation(of: $0, limit: limit) }
  }

  /// True if the file with code and unwind tables was found, and not only its debug file.
  var hasCode: Bool { files.image != nil }

  /// Notes about why names or lines may be missing.
  var notes: [String] {
    files.notes + [information?.note, limit.note].compactMap(\.self)
  }

  /// A note that the module's files are stripped, so that they contain no names except those of dynamic symbols.
  ///
  /// The result is nil if they are not stripped.
  var missingNames: String? { files.missingNames }

  /// Converts an address of the process to the link-time address of the same place.
  private func fileAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    firstAddress &+ address.wrappedDistance(above: module.address)
  }

  func processAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    module.address &+ address.wrappedDistance(above: firstAddress)
  }

  /// Finds the name and start of the function around an address of the process.
  package func function(
    at address: Address, in module: ModuleSnapshot
  ) -> (name: String, start: Address)? {
    guard let entry = table.entry(containing: fileAddress(address, module)),
      let name = table.name(of: entry, in: tableFile.elf)
    else { return nil }
    return (name, processAddress(entry.address, module))
  }

  /// The address range of the function around an address of the process, from the symbol table.
  func functionRange(around address: Address, in module: ModuleSnapshot) -> AddressRange? {
    guard let entry = table.entry(containing: fileAddress(address, module)), entry.isFunction
    else { return nil }
    return AddressRange(start: processAddress(entry.address, module), byteCount: entry.size)
  }

  /// Finds the function and the inlined calls at an address of the process, innermost first.
  ///
  /// The function's name comes from the symbol table, as in debuggers. Names that the table lacks, and names of
  /// inlined calls, come from the debug information.
  package func frames(
    at address: Address, in module: ModuleSnapshot, approximating: Bool = true
  ) -> [DebugInformation.Frame] {
    let place = fileAddress(address, module)
    var frames = cache?.frames(at: place) ?? fileFrames(at: place, approximating: approximating)
    // A result is cached only if no limit can have made it incomplete.
    if let cache, approximating, limit.note == nil, !limit.isReached,
      cache.frames(at: place) == nil
    {
      cache.add(frames, at: place)
    }
    if let start = frames.last?.start {
      frames[frames.count - 1].start = processAddress(start, module)
    }
    return frames
  }

  /// Saves the names that were found, for use by later processes.
  func saveCache() { cache?.save() }

  /// Finds the function and the inlined calls at a link-time address.
  private func fileFrames(at address: Address, approximating: Bool) -> [DebugInformation.Frame] {
    var frames = information?.frames(at: address, approximating: approximating) ?? []
    guard let entry = table.entry(containing: address),
      let name = table.name(of: entry, in: tableFile.elf)
    else { return frames }
    guard var last = frames.popLast() else {
      return [.init(name: name, start: entry.address, location: nil, isInlined: false)]
    }
    (last.name, last.start) = (name, entry.address)
    return frames + [last]
  }

  /// Finds the start of the function that contains an address of the process, even if the function has no name.
  func functionStart(of address: Address, in module: ModuleSnapshot) -> Address? {
    let wanted = fileAddress(address, module)
    let start = table.entry(containing: wanted)?.address ?? frames.functionStart(of: wanted)
    return start.map { processAddress($0, module) }
  }

  func code(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    files.image?.elf.loadedBytes(at: fileAddress(address, module), count: count)
  }

  /// Finds the unwind rules at an address of the process; nil if the files have none.
  func cfiRow(at address: Address, in module: ModuleSnapshot, registerCount: Int) -> CFIRow? {
    frames.row(
      at: fileAddress(address, module),
      loadBias: module.address.wrappedDistance(above: firstAddress),
      registerCount: registerCount)
  }
}
