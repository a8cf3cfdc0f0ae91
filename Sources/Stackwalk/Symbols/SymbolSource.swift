public import ProcessSnapshot

/// Looks up functions and lines for addresses in the modules' files on this machine.
///
/// A module's file and its separate debug file are opened when they are first needed. A file whose build ID differs
/// from the one in the dump is not used. `WorkLimit` limits the work and the memory for one report; `note(on:)`
/// explains what is missing because of the limit.
public final class SymbolSource {
  private struct Key: Hashable {
    let path: String
    let buildID: [UInt8]

    init(_ module: ModuleSnapshot) { (path, buildID) = (module.path, module.buildID) }
  }

  private struct FileKey: Hashable {
    let file: ModuleFile.Identity
    let buildID: [UInt8]
  }

  /// An address in a module.
  ///
  /// The module is a part of the key because all modules in the crash summary of a log begin at address 0.
  private struct Place: Hashable {
    let module: Key
    let base: Address
    let address: Address
  }

  /// The approximate numbers of bytes of memory that one cached lookup of an address, and one frame with names, take.
  private static let (knownCost, frameCost) = (128, 256)

  private let directories: SymbolDirectories
  private var stored: StoredSymbols?
  private let readsFiles: Bool
  /// True to read files only for names that the report does not contain.
  private let prefersStored: Bool
  private let store: (any SymbolStore)?
  let limit: WorkLimit
  private var loaded: [Key: Result<ModuleSymbols, StackwalkError>] = [:]
  /// The opened modules, by file and not by path, because a dump can contain any number of paths for the same file.
  private var byFile: [FileKey: ModuleSymbols] = [:]
  private var names: [String: String] = [:]
  private var known: [Place: [DebugInformation.Frame]] = [:]
  private var storedModules: Set<Key> = []
  /// The modules that contain a frame for which no name was found.
  private var nameless: Set<Key> = []
  /// The base addresses of modules that were on a stack and whose unwind tables are missing.
  private var modulesWithoutTables: Set<Address> = []

  /// Makes a source; files are opened later, when they are needed.
  ///
  /// - Parameters:
  ///   - directories: directories to search for files of the same build, in addition to the modules' paths, their
  ///     `.gnu_debuglink` and `/usr/lib/debug`.
  ///   - stored: symbols that are stored in the report, for addresses without names in the modules' files, for example
  ///     because the files no longer exist.
  ///   - readsFiles: false to use only stored symbols.
  ///   - timeLimit: the number of seconds from now after which nothing more is read; nil for no limit.
  public convenience init(
    directories: [String] = [], stored: StoredSymbols? = nil, readsFiles: Bool = true,
    timeLimit: Double? = nil
  ) {
    self.init(
      directories: directories, stored: stored, readsFiles: readsFiles, store: nil,
      limit: WorkLimit(seconds: timeLimit))
  }

  /// Makes a source that can store the names that it finds, for use by later processes.
  ///
  /// - Parameters:
  ///   - process: the files of the process that wrote the dump, if it still runs.
  ///   - store: stores the names; nil to store none.
  ///   - prefersStored: true to read no file for the names of a frame that is in `stored`.
  ///   - limit: limits time, work and memory.
  package init(
    directories: [String], process: ProcessFiles? = nil, stored: StoredSymbols?, readsFiles: Bool,
    store: (any SymbolStore)?, prefersStored: Bool = false, limit: WorkLimit = WorkLimit()
  ) {
    self.directories = SymbolDirectories(directories, process: process)
    self.stored = stored
    self.readsFiles = readsFiles
    self.prefersStored = prefersStored
    self.limit = limit
    self.store = store
  }

  /// Saves the names that were found, for use by later processes.
  package func saveCache() {
    for case .success(let symbols) in loaded.values { symbols.saveCache() }
  }

  /// True if the limit of time or work has been reached; names may then be missing although the files contain them.
  package var isTimeOver: Bool { limit.isReached }

  /// Prepares the source for another process, and usually keeps the open files.
  ///
  /// If the source has no time limit, this call also resets the limit of work, and closes the files if that limit was
  /// reached or most of the memory is taken.
  ///
  /// - Parameter stored: the symbols that are stored in the report of that process.
  public func begin(stored: StoredSymbols?) {
    self.stored = stored
    // If a time limit was set, it applies to all work for one report, so it is not reset here.
    if !limit.hasDeadline { begin(timeLimit: nil) }
    known = [:]
    storedModules = []
    nameless = []
    modulesWithoutTables = []
  }

  /// Resets the limits of time and work, before this source is used for another process.
  ///
  /// If a limit was reached or most of the memory is taken, all files are closed and their data is freed.
  ///
  /// - Parameter timeLimit: the number of seconds from now after which nothing more is read; nil for no limit.
  package func begin(timeLimit: Double?) {
    // Tables that were being read when the limit was reached are incomplete, and must not be used for the next
    // report.
    let wasReached = limit.isReached
    limit.begin(seconds: timeLimit)
    guard wasReached || limit.isMostlyTaken else { return }
    (loaded, byFile, known, names) = ([:], [:], [:], [:])
    limit.forgetAll()
  }

  /// A note on a module: why names or callers of its functions are missing or uncertain, or that its names were stored
  /// at conversion.
  ///
  /// The result is nil if there is nothing to note, or if the module was not needed.
  public func note(on module: ModuleSnapshot) -> String? {
    let key = Key(module)
    var notes: [String] = []
    switch loaded[key] {
    case .failure(let error): notes = [error.description]
    case .success(let symbols):
      notes = symbols.notes
      if nameless.contains(key) {
        let other = notes.isEmpty ? "\(module.name) names no function there" : nil
        if let reason = symbols.missingNames ?? other { notes.append(reason) }
      }
      if !symbols.isVerified {
        notes.append("\(module.path) has no build ID: it may be another build than in the dump")
      }
    case nil: if !readsFiles, nameless.contains(key) { notes = ["files of modules were not read"] }
    }
    if storedModules.contains(key) {
      notes.append("names and lines of the crashing thread were stored at conversion")
    }
    if modulesWithoutTables.contains(module.address) {
      notes.append("its unwind tables were not found: callers of its functions may be missing")
    }
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  /// Records that a module without unwind tables was on a stack; does nothing if the module's file was found, or if
  /// this source reads no files.
  func noteMissingTables(of module: ModuleSnapshot) {
    if readsFiles, symbols(of: module)?.hasCode != true {
      modulesWithoutTables.insert(module.address)
    }
  }

  /// True if `noteMissingTables(of:)` has recorded the module.
  func lacksTables(of module: ModuleSnapshot) -> Bool {
    modulesWithoutTables.contains(module.address)
  }

  /// Names a frame, and inserts before it the calls that were inlined into it.
  ///
  /// - Parameters:
  ///   - frame: a frame without names, in `module`.
  ///   - module: the module that contains the frame's address.
  /// - Returns: the frames, innermost first; only `frame` if nothing is known about it.
  public func frames(at frame: StackFrame, in module: ModuleSnapshot) -> [StackFrame] {
    if prefersStored, let frames = storedFrames(at: frame, in: module) { return frames }
    var calls = calls(at: frame.lookupAddress, in: module)
    // In a crafted dump, each frame of a stack can have hundreds of inlined calls. If these would exceed the memory
    // limit, only the outermost function is kept.
    if calls.count > 1, !limit.take(Self.frameCost * calls.count) { calls = calls.suffix(1) }
    guard calls.isEmpty else {
      return calls.map { call in
        var result = frame
        result.symbol = call.name.map { name in
          FrameSymbol(
            linkageName: name, name: demangled(name),
            offset: call.isInlined
              ? nil : call.start.map { frame.address.wrappedDistance(above: $0) })
        }
        result.sourceLocation = call.location
        result.isInlined = call.isInlined
        return result
      }
    }
    if let frames = storedFrames(at: frame, in: module) { return frames }
    nameless.insert(Key(module))
    return [frame]
  }

  /// Names a frame with the symbols that are stored in the report; nil if there are none for the address.
  private func storedFrames(at frame: StackFrame, in module: ModuleSnapshot) -> [StackFrame]? {
    guard let functions = stored?.functions[frame.lookupAddress], !functions.isEmpty else {
      return nil
    }
    storedModules.insert(Key(module))
    return functions.map { function in
      var result = frame
      result.symbol =
        function.linkageName.isEmpty
        ? nil
        : FrameSymbol(
          linkageName: function.linkageName, name: demangled(function.linkageName),
          offset: function.offset)
      result.sourceLocation = function.file.map { file in
        SourceLocation(
          file: file, line: function.line.map { Int($0) }, column: function.column.map { Int($0) },
          isApproximate: function.isLineApproximate)
      }
      result.isInlined = function.isInlined
      result.isStored = true
      return result
    }
  }

  private func calls(at address: Address, in module: ModuleSnapshot) -> [DebugInformation.Frame] {
    let place = Place(module: Key(module), base: module.address, address: address)
    if let calls = known[place] { return calls }
    let calls = symbols(of: module)?.frames(at: address, in: module) ?? []
    if limit.take(Self.knownCost * (1 + calls.count)) { known[place] = calls }
    return calls
  }

  /// Finds the function of a frame, ignoring inlined calls; nil if its name is not known.
  public func symbol(for frame: StackFrame, in module: ModuleSnapshot) -> FrameSymbol? {
    frames(at: frame, in: module).last?.symbol
  }

  /// Finds the linkage name of the function around an address, ignoring inlined calls.
  func linkageName(of address: Address, in module: ModuleSnapshot) -> String? {
    if prefersStored, let name = stored?.functions[address]?.last?.linkageName { return name }
    return symbols(of: module)?.function(at: address, in: module)?.name
      ?? stored?.functions[address]?.last?.linkageName
  }

  /// The address range of the function around an address, from the symbol table.
  func function(at address: Address, in module: ModuleSnapshot) -> AddressRange? {
    symbols(of: module)?.functionRange(around: address, in: module)
  }

  func functionStart(of address: Address, in module: ModuleSnapshot) -> Address? {
    symbols(of: module)?.functionStart(of: address, in: module)
  }

  func cfiRow(at address: Address, in module: ModuleSnapshot, registerCount: Int) -> CFIRow? {
    symbols(of: module)?.cfiRow(at: address, in: module, registerCount: registerCount)
  }

  func code(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    symbols(of: module)?.code(at: address, count: count, in: module)
  }

  func symbols(of module: ModuleSnapshot) -> ModuleSymbols? {
    // Modules without an absolute path, such as the vDSO, have no file.
    guard readsFiles, module.path.hasPrefix("/") else { return nil }
    let key = Key(module)
    if let known = loaded[key] { return try? known.get() }
    let file = directories.ownPaths(of: module).lazy.compactMap(ModuleFile.identity).first
    let fileKey = file.map { FileKey(file: $0, buildID: module.buildID) }
    if let symbols = fileKey.flatMap({ byFile[$0] }) {
      loaded[key] = .success(symbols)
      return symbols
    }
    let result = Result { () throws(StackwalkError) in
      try ModuleSymbols(module, directories: directories, limit: limit, store: store)
    }
    loaded[key] = result
    guard let symbols = try? result.get() else { return nil }
    if let fileKey { byFile[fileKey] = symbols }
    return symbols
  }

  private func demangled(_ name: String) -> String {
    if let known = names[name] { return known }
    let result = Demangler.demangle(name) ?? name
    names[name] = result
    return result
  }
}
