internal import IntermediateDump
internal import ProcessSnapshot

/// Reads one minidump: each stream's decoder is an extension in a file of its own.
struct MinidumpDecoder {
  var file: MinidumpFile
  var snapshot = ProcessSnapshot(architecture: .x86_64)
  /// For each entry of the file's module list the place of its module in the snapshot.
  var moduleIndices: [Int] = []
  /// What the modules say of themselves, in the file's order.
  var moduleAnnotations: [ModuleAnnotations] = []
  /// Annotations of modules that may still be taken.
  var moduleAnnotationsLeft = MinidumpFile.maximumEntries

  init(file: MinidumpFile) {
    self.file = file
  }

  mutating func decode() throws(MinidumpError) -> ProcessSnapshot {
    snapshot.architecture = try architecture()
    snapshot.capture.isComplete = true
    let listed = decodeMemoryList() + decodeMemory64List()
    decodeThreadList(listed: listed)
    decodeThreadNames()
    decodeException()
    let mainModule = decodeModuleList()
    decodeCrashpadInfo()
    decodeCopies()
    decodeMaps()
    decodeLinkMap()
    decodeStoredSymbols()
    snapshot.memory = MemorySnapshot(joining: listed + snapshot.threads.flatMap(\.stack))
    let document = extensionDocument()
    if document?.isComplete != true {
      // Rounded or composed values, good enough where the exact ones are missing.
      decodeSystemInfo()
      decodeMiscInfo()
      decodeProcStatus()
      decodeReleaseText()
      mergeModuleAnnotations()
      snapshot.process.executablePath = mainModule?.isEmpty == false ? mainModule : nil
      snapshot.process.product = snapshot.annotations[ProcessSnapshot.productAnnotation]
      snapshot.process.version = snapshot.annotations[ProcessSnapshot.versionAnnotation]
      if file.timeStamp != 0 {
        snapshot.process.crashTime = Int64(file.timeStamp) &* 1_000_000_000
      }
    } else {
      // These may be the writer's; the extension has the program's own.
      snapshot.annotations[ProcessSnapshot.productAnnotation] = nil
      snapshot.annotations[ProcessSnapshot.versionAnnotation] = nil
    }
    if let document { snapshot.applyExtension(document) }
    noteDamage()
    return snapshot
  }

  private mutating func extensionDocument() -> IntermediateDumpDocument? {
    guard let bytes = file.copy(.postmortemExtension) else { return nil }
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      file.note("the extension stream is no intermediate dump")
      return nil
    }
    if let damage = document.damage { file.note("the extension stream: \(damage)") }
    return document
  }

  /// The streams that are copies of files.
  private mutating func decodeCopies() {
    snapshot.process.statusText = file.copy(.linuxProcStatus)
    snapshot.process.auxiliaryVector = file.copy(.linuxAuxv)
    snapshot.process.commandLine = file.copy(.linuxCmdLine)
    snapshot.system.processorText = file.copy(.linuxCpuInfo)
    snapshot.system.releaseText = file.copy(.linuxLsbRelease)
  }

  private mutating func decodeMaps() {
    if let text = file.copy(.linuxMaps) {
      snapshot.process.mapsText = text
      snapshot.mappings = MemoryMapping.mappings(parsing: text[...])
    } else {
      snapshot.mappings = decodeMemoryInfoList()
    }
  }

  private mutating func noteDamage() {
    guard !file.damage.isEmpty else { return }
    snapshot.capture.isComplete = false
    let all = [snapshot.capture.damage].compactMap { $0 } + file.damage
    snapshot.capture.damage = all.joined(separator: "; ")
  }
}
