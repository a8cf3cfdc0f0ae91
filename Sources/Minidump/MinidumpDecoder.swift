internal import ProcessSnapshot

/// Reads one minidump: each stream's decoder is an extension in the file of that stream.
struct MinidumpDecoder {
  var file: MinidumpFile
  var snapshot = ProcessSnapshot(architecture: .x86_64)
  /// The path of the file's first module; nil where it has none.
  var mainModulePath: String?
  /// For each entry of the file's module list the place of its module in the snapshot.
  var moduleIndices: [Int] = []
  /// The modules' own annotations, in the file's order.
  var moduleAnnotations: [ModuleAnnotations] = []
  /// Annotations of modules that may still be taken.
  var moduleAnnotationsLeft = MinidumpFile.maximumEntries

  init(file: MinidumpFile) {
    self.file = file
  }

  mutating func decode() throws(MinidumpError) -> ProcessSnapshot {
    if let own = decodePostmortemDump() {
      snapshot = own
    } else {
      try decodeStandardStreams()
      if isOlderReport { decodeOlderReport() } else { decodeDescriptions() }
    }
    noteDamage()
    return snapshot
  }

  /// Reads what any writer's minidump has.
  private mutating func decodeStandardStreams() throws(MinidumpError) {
    snapshot.architecture = try architecture()
    snapshot.capture.isComplete = true
    let listed = decodeMemoryList() + decodeMemory64List()
    decodeThreadList(listed: listed)
    decodeThreadNames()
    decodeException()
    decodeModuleList()
    decodeCrashpadInfo()
    decodeProcessFiles()
    decodeLinkMap()
    snapshot.memory = MemorySnapshot(joining: listed + snapshot.threads.flatMap(\.stack))
  }

  /// Reads process and system: rounded or composed values, good enough if there are no others.
  mutating func decodeDescriptions() {
    decodeSystemInfo()
    decodeMiscInfo()
    decodeProcStatus()
    decodeReleaseText()
    mergeModuleAnnotations()
    snapshot.process.executablePath = mainModulePath
    snapshot.process.product = snapshot.launchAnnotations[MinidumpFormat.productAnnotation]
    snapshot.process.version = snapshot.launchAnnotations[MinidumpFormat.versionAnnotation]
    if file.timeStamp != 0 {
      snapshot.process.crashTime = Int64(file.timeStamp) &* 1_000_000_000
    }
  }

  private mutating func noteDamage() {
    guard !file.damage.isEmpty else { return }
    snapshot.capture.isComplete = false
    let all = [snapshot.capture.damage].compactMap { $0 } + file.damage
    snapshot.capture.damage = all.joined(separator: "; ")
  }
}
