internal import ProcessSnapshot

/// The functions of one module, from its file.
final class ModuleSymbols {
  private let elf: ELFFile
  private let firstAddress: UInt64
  private lazy var table = SymbolTable(of: elf)
  private lazy var starts = FunctionStarts(of: elf)
  /// False if the dump or the file has no build ID to compare.
  let isVerified: Bool

  /// Opens a module's file and checks that it is the build that crashed.
  init(_ module: ModuleSnapshot) throws(StackwalkError) {
    let elf = try ELFFile(path: module.path)
    guard let firstAddress = elf.firstAddress else {
      throw StackwalkError(.notELF, path: module.path)
    }
    let buildID = elf.buildID
    // A dump keeps every build ID there is, so a file that has one where the dump has none is
    // another build.
    guard buildID == module.buildID else {
      throw StackwalkError(.notTheSameBuild, path: module.path)
    }
    isVerified = !buildID.isEmpty
    self.firstAddress = firstAddress
    self.elf = elf
  }

  /// An address of the process in the file's own numbering.
  private func fileAddress(_ address: UInt64, _ module: ModuleSnapshot) -> UInt64 {
    address &- module.address &+ firstAddress
  }

  /// The name and start of the function around an address of the process.
  func function(at address: UInt64, in module: ModuleSnapshot) -> (name: String, start: UInt64)? {
    guard let entry = table.entry(containing: fileAddress(address, module)),
      let name = table.name(of: entry, in: elf)
    else { return nil }
    return (name, entry.address &- firstAddress &+ module.address)
  }

  /// The start of the function around an address of the process, of a function without a name too.
  func functionStart(of address: UInt64, in module: ModuleSnapshot) -> UInt64? {
    let wanted = fileAddress(address, module)
    let start = table.entry(containing: wanted)?.address ?? starts.start(of: wanted)
    return start.map { $0 &- firstAddress &+ module.address }
  }

  func code(at address: UInt64, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    elf.loadedBytes(at: fileAddress(address, module), count: count)
  }
}
