internal import IntermediateDump
package import ProcessSnapshot
package import Stackwalk
package import SwiftRuntime

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
    let names =
      [Self.metadataName, Self.slabMetadataName, Self.layoutName, Self.sizeName]
      + Self.adapterNames
    for module in modules.linking([Self.library]) {
      let places = symbols.addresses(of: names, in: module)
      func value(_ name: String) -> UInt64? { places[name].flatMap(word) }
      guard let metadata = value(Self.metadataName), metadata != 0,
        let slabMetadata = value(Self.slabMetadataName),
        value(Self.layoutName).map({ UInt32(truncatingIfNeeded: $0) }) == TaskLayout.version
      else { continue }
      self.init(
        metadata: metadata, slabMetadata: slabMetadata,
        adapters: Self.adapterNames.compactMap(value))
      if let size = value(Self.sizeName), size <= 4096 { taskSize = size }
      return
    }
    return nil
  }
}
