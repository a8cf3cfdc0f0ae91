internal import Glibc
package import ProcessSnapshot

/// Functions, lines and unwind rules of one module, from its file and its split debug file.
package final class ModuleSymbols {
  private let files: SymbolFiles
  private let firstAddress: Address
  private lazy var table = SymbolTable(of: tableFile.elf)
  private lazy var frames = CFITable(of: files)
  private lazy var information = makeInformation()
  private let limit: WorkLimit
  /// The file with the symbol table.
  private let tableFile: ELFImage
  /// False if the dump has no build ID to compare.
  let isVerified: Bool

  /// Opens a module's files, of the build that crashed only.
  ///
  /// - Parameters:
  ///   - module: as the dump describes it.
  ///   - directories: directories to search besides the usual places.
  ///   - limit: bounds the time for reading.
  package init(
    _ module: ModuleSnapshot, directories: [String] = [], limit: WorkLimit = WorkLimit(seconds: nil)
  ) throws(StackwalkError) {
    let files = try SymbolFiles(of: module, directories: directories)
    guard let first = files.all.first, let firstAddress = first.elf.firstAddress else {
      throw StackwalkError(.notELF, path: module.path)
    }
    isVerified = !module.buildID.isEmpty
    tableFile = files.all.first(where: \.hasSymbolTable) ?? first
    self.firstAddress = firstAddress
    self.limit = limit
    self.files = files
  }

  private func makeInformation() -> DebugInformation? {
    files.all.first(where: \.hasDebugInformation).flatMap { DebugInformation(of: $0, limit: limit) }
  }

  /// Says why names or lines may be missing.
  var notes: [String] { files.notes + (information?.note.map { [$0] } ?? []) }

  /// Converts an address of the process into the file's own numbering.
  private func fileAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    firstAddress &+ address.wrappedDistance(above: module.address)
  }

  private func processAddress(_ address: Address, _ module: ModuleSnapshot) -> Address {
    module.address &+ address.wrappedDistance(above: firstAddress)
  }

  /// Finds the name and start of the function around an address of the process.
  func function(at address: Address, in module: ModuleSnapshot) -> (name: String, start: Address)? {
    guard let entry = table.entry(containing: fileAddress(address, module)),
      let name = table.name(of: entry, in: tableFile.elf)
    else { return nil }
    return (name, processAddress(entry.address, module))
  }

  /// Finds the calls at an address of the process, innermost first.
  ///
  /// Names the function that is not inlined by the symbol table, as debuggers do.
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

  /// Finds the start of the function around an address of the process, even without a name.
  func functionStart(of address: Address, in module: ModuleSnapshot) -> Address? {
    let wanted = fileAddress(address, module)
    let start = table.entry(containing: wanted)?.address ?? frames.functionStart(of: wanted)
    return start.map { processAddress($0, module) }
  }

  func code(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    files.image?.elf.loadedBytes(at: fileAddress(address, module), count: count)
  }

  /// Finds the unwind rules at an address of the process; nil where the files have none.
  func cfiRow(at address: Address, in module: ModuleSnapshot, registerCount: Int) -> CFIRow? {
    frames.row(
      at: fileAddress(address, module),
      loadBias: module.address.wrappedDistance(above: firstAddress),
      registerCount: registerCount)
  }
}

/// The time by which reading symbols has to end; long loops check it now and then.
package final class WorkLimit {
  /// Nanoseconds of the monotonic clock; nil for no limit.
  private let deadline: UInt64?
  private var wasReached = false

  /// Starts the clock.
  ///
  /// - Parameter seconds: from now on; nil for no limit.
  package init(seconds: Double?) {
    deadline = seconds.map {
      Self.now &+ (UInt64(exactly: (max(0, min($0, 1e6)) * 1e9).rounded()) ?? 0)
    }
  }

  var isReached: Bool {
    guard let deadline else { return false }
    if !wasReached, Self.now >= deadline { wasReached = true }
    return wasReached
  }

  private static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
