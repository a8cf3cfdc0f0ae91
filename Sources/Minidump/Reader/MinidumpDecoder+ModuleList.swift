internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpDecoder {
  /// MINIDUMP_MODULE_LIST.
  ///
  /// - Returns: the path of its first module, which writers make the executable.
  mutating func decodeModuleList() -> String? {
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
    let main = modules.first?.path
    let sorted = modules.enumerated()
      .sorted { ($0.element.address, $0.offset) < ($1.element.address, $1.offset) }
    snapshot.modules = sorted.map(\.element)
    moduleIndices = Array(repeating: 0, count: modules.count)
    for (index, module) in sorted.enumerated() { moduleIndices[module.offset] = index }
    return main
  }

  /// The build ID of a CodeView record; of `RSDS`, whose GUID is made of the build ID's first 16
  /// bytes, those.
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
      let guid = file.bytes[contents.lowerBound..<contents.lowerBound + 16]
      return ReportID(guidBytes: guid)?.bytes ?? []
    default:
      return []
    }
  }
}
