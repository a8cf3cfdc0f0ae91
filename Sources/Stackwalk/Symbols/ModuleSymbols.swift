package import ProcessSnapshot

/// The functions of one module, from its file and its split debug file.
package final class ModuleSymbols {
  private let files: SymbolFiles
  private let firstAddress: Address
  private lazy var table = SymbolTable(of: tableFile.elf)
  private lazy var frames = CallFrameTable(of: files)
  /// Opened when the first line is asked for.
  private lazy var information = makeInformation()
  private let limit: WorkLimit
  /// The file that names come from.
  private let tableFile: ELFImage
  /// False if the dump or the file has no build ID to compare.
  let isVerified: Bool

  /// Opens a module's files and checks that they are the build that crashed.
  ///
  /// - Parameters:
  ///   - module: as the dump describes it.
  ///   - folders: where else to look for files of the same build.
  ///   - limit: when to stop reading.
  package init(
    _ module: ModuleSnapshot, folders: [String] = [], limit: WorkLimit = WorkLimit(seconds: nil)
  ) throws(StackwalkError) {
    let files = try SymbolFiles(of: module, folders: folders)
    let all = [files.image, files.debug].compactMap { $0 }
    guard let first = all.first, let firstAddress = first.elf.firstAddress else {
      throw StackwalkError(.notELF, path: module.path)
    }
    isVerified = !module.buildID.isEmpty
    tableFile = all.first(where: \.hasSymbolTable) ?? first
    self.firstAddress = firstAddress
    self.limit = limit
    self.files = files
  }

  private func makeInformation() -> DebugInformation? {
    let file = [files.image, files.debug].compactMap { $0 }.first(where: \.hasDebugInformation)
    return file.flatMap { DebugInformation(of: $0, limit: limit) }
  }

  /// What somebody who misses names or lines should know.
  var notes: [String] {
    files.notes + (information?.note.map { [$0] } ?? [])
  }

  /// An address of the process in the file's own numbering.
  private func fileAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    firstAddress &+ address.wrappedDistance(above: module.address)
  }

  private func processAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    module.address &+ address.wrappedDistance(above: firstAddress)
  }

  /// The name and start of the function around an address of the process.
  func function(at address: Address, in module: ModuleSnapshot) -> (name: String, start: Address)? {
    guard let entry = table.entry(containing: fileAddress(address, module)),
      let name = table.name(of: entry, in: tableFile.elf)
    else { return nil }
    return (name, processAddress(entry.address, module))
  }

  /// The calls at an address of the process, innermost first, their starts in the process' own
  /// numbering.
  ///
  /// The function that is not inlined has its name from the symbol table, which is what debuggers
  /// show and what a program without debug information has.
  package func frames(
    at address: Address, in module: ModuleSnapshot, approximating: Bool = true
  ) -> [DebugInformation.Frame] {
    var frames =
      information?.frames(at: fileAddress(address, module), approximating: approximating) ?? []
    let function = function(at: address, in: module)
    guard var last = frames.popLast() else {
      return function.map { function in
        [.init(name: function.name, start: function.start, location: nil, isInlined: false)]
      } ?? []
    }
    last.start = last.start.map { processAddress($0, module) }
    if let function {
      last.name = function.name
      last.start = function.start
    }
    return frames + [last]
  }

  /// The start of the function around an address of the process, of a function without a name too.
  func functionStart(of address: Address, in module: ModuleSnapshot) -> Address? {
    let wanted = fileAddress(address, module)
    let start = table.entry(containing: wanted)?.address ?? frames.functionStart(of: wanted)
    return start.map { processAddress($0, module) }
  }

  func code(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    files.image?.elf.loadedBytes(at: fileAddress(address, module), count: count)
  }

  /// The rules for unwinding at an address of the process; nil where the files have none.
  func frameRow(at address: Address, in module: ModuleSnapshot, registerCount: Int) -> FrameRow? {
    frames.row(
      at: fileAddress(address, module),
      loadBias: module.address.wrappedDistance(above: firstAddress),
      registerCount: registerCount)
  }
}
