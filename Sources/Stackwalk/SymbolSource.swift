public import ProcessSnapshot

/// Names for addresses, from the symbol tables of the modules' files on this machine.
///
/// A file is opened when its module is first asked for, and used only if its build ID is the one in
/// the dump. The tables stay in memory, some 24 bytes a function, for as long as this object lives.
public final class SymbolSource {
  private struct Key: Hashable {
    let path: String
    let buildID: [UInt8]
  }

  private enum Loaded {
    case symbols(ModuleSymbols)
    case failed(StackwalkError)
  }

  private var loaded: [Key: Loaded] = [:]
  private var names: [String: String] = [:]

  public init() {}

  /// Why a module has no names, or what is uncertain about them; nil where all is well or it was
  /// never asked for.
  public func note(on module: ModuleSnapshot) -> String? {
    switch loaded[Key(path: module.path, buildID: module.buildID)] {
    case .failed(let error): error.description
    case .symbols(let symbols) where !symbols.isVerified:
      "\(module.path) has no build ID: it may be another build than in the dump"
    case .symbols, nil: nil
    }
  }

  /// The function that a frame is in; nil if its module has no names, or none there.
  public func symbol(for frame: StackFrame, in module: ModuleSnapshot) -> FrameSymbol? {
    guard let function = symbols(of: module)?.function(at: frame.lookupAddress, in: module) else {
      return nil
    }
    let name = demangled(function.name)
    return FrameSymbol(
      linkageName: function.name, name: name, offset: frame.address &- function.start)
  }

  func linkageName(of address: UInt64, in module: ModuleSnapshot) -> String? {
    symbols(of: module)?.function(at: address, in: module)?.name
  }

  func functionStart(of address: UInt64, in module: ModuleSnapshot) -> UInt64? {
    symbols(of: module)?.functionStart(of: address, in: module)
  }

  func code(at address: UInt64, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    symbols(of: module)?.code(at: address, count: count, in: module)
  }

  private func symbols(of module: ModuleSnapshot) -> ModuleSymbols? {
    // The vDSO has no file; "[heap]" and the like are no modules.
    guard module.path.hasPrefix("/") else { return nil }
    let key = Key(path: module.path, buildID: module.buildID)
    if case .symbols(let symbols)? = loaded[key] { return symbols }
    guard loaded[key] == nil else { return nil }
    do {
      let symbols = try ModuleSymbols(module)
      loaded[key] = .symbols(symbols)
      return symbols
    } catch {
      loaded[key] = .failed(error)
      return nil
    }
  }

  private func demangled(_ name: String) -> String {
    if let known = names[name] { return known }
    let result = Demangler.demangle(name) ?? name
    names[name] = result
    return result
  }
}
