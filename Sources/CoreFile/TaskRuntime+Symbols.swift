package import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

extension TaskRuntime {
  /// Reads the values that identify tasks in memory from the runtime's variables.
  ///
  /// - Parameters:
  ///   - modules: the modules of the process. The program is searched too, because the runtime can be linked into it.
  ///   - word: reads a word of the process's memory.
  /// - Returns: nil if the process does not use Swift concurrency, its runtime has another memory layout, or the
  ///   variables cannot be found or read.
  package init?(
    in modules: [ModuleSnapshot], _ symbols: SymbolSource, word: (Address) -> UInt64?
  ) {
    let libraries = modules.filter { $0.name.hasPrefix("libswift_Concurrency.so") }
    let program = modules.filter { $0.source == .program }
    let names =
      [Self.metadataName, Self.slabMetadataName, Self.layoutName, Self.sizeName]
      + Self.adapterNames
    for module in libraries + program {
      let places = symbols.addresses(of: names, in: module)
      func value(_ name: String) -> UInt64? { places[name].flatMap(word) }
      guard let metadata = value(Self.metadataName), metadata != 0,
        let slabMetadata = value(Self.slabMetadataName),
        value(Self.layoutName).map({ $0 & 0xFFFF_FFFF }) == Self.knownLayout
      else { continue }
      self.init(
        metadata: metadata, slabMetadata: slabMetadata,
        adapters: Self.adapterNames.compactMap(value))
      if let size = value(Self.sizeName), size <= 4096 { taskSize = size }
      contexts = ContextPlace(in: modules, symbols, word: word)
      return
    }
    return nil
  }
}

extension TaskRuntime.ContextPlace {
  /// Finds out, by reading the handler's variables, where tasks store contexts.
  ///
  /// The result is nil if the variables are not found, or if they do not contain the offset of the list's head. For
  /// example, the offset is missing if the program has not called `withContext`.
  init?(in modules: [ModuleSnapshot], _ symbols: SymbolSource, word: (Address) -> UInt64?) {
    guard let places = ClientFacts.places(in: modules, symbols, word: word),
      let work = places[ClientFacts.workPlaces], let key = places[ClientFacts.workKey],
      let type = word(work &+ 8), let head = word(work &+ 16)
    else { return nil }
    self.init(key: key.value, type: type, head: head)
  }
}
