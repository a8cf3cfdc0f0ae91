package import IntermediateDump
public import ProcessSnapshot

/// Reads minidumps of this package, and those of Breakpad and Crashpad, for Linux and partly for other systems.
public enum MinidumpReader {
  /// Makes a snapshot of everything in a minidump.
  ///
  /// Reading never traps, whatever bytes the file contains, and uses at most a few times as much memory as the file
  /// has bytes. A damaged stream is left out, or only its readable entries are used, and `capture.damage` describes
  /// the damage. Values that a foreign writer did not record stay nil. A minidump of this package is read as the
  /// snapshot that was written, except for parts that the limits of the format cut off.
  ///
  /// - Parameter bytes: the whole file.
  /// - Returns: the snapshot. A missing stream is not an error.
  /// - Throws: `MinidumpError` only if nothing can be used, with the code `notAMinidump` or
  ///   `unsupportedArchitecture`.
  public static func snapshot(of bytes: [UInt8]) throws(MinidumpError) -> ProcessSnapshot {
    try snapshot(of: DumpBytes(bytes))
  }

  package static func snapshot(of bytes: DumpBytes) throws(MinidumpError) -> ProcessSnapshot {
    var decoder = MinidumpDecoder(file: try MinidumpFile(bytes))
    return try decoder.decode()
  }
}

/// Reads one minidump; the decoder of each stream is an extension in the file of that stream.
struct MinidumpDecoder {
  var file: MinidumpFile
  var snapshot = ProcessSnapshot(architecture: .x86_64)
  /// The path of the first module in the file; nil if the file has no modules.
  var mainModulePath: String?
  /// For each module in the file's list, its index in the snapshot.
  var moduleIndices: [Int] = []
  /// The annotations of the modules, in the file's order.
  var moduleAnnotations: [ModuleAnnotations] = []
  /// The number of module annotations that may still be read.
  var moduleAnnotationsLeft = MinidumpFile.maximumEntries

  mutating func decode() throws(MinidumpError) -> ProcessSnapshot {
    if let own = decodePostmortemDump() {
      snapshot = own
    } else {
      try decodeStandardStreams()
      decodeDescriptions()
    }
    noteDamage()
    return snapshot
  }

  /// Reads this package's own stream: the whole snapshot as an intermediate dump, without memory.
  ///
  /// - Returns: nil for a minidump of another writer. Also nil if the stream is damaged; the damage is then noted.
  private mutating func decodePostmortemDump() -> ProcessSnapshot? {
    guard let bytes = file.copy(.postmortemDump) else { return nil }
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      file.note("our own stream is no intermediate dump")
      return nil
    }
    if let damage = document.damage {
      file.note("our own stream: \(damage)")
      return nil
    }
    let memory = MemorySnapshot(joining: decodeMemoryList() + decodeMemory64List())
    return ProcessSnapshot(reading: document, memory: memory)
  }

  /// Reads the streams that minidumps of all writers have.
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

  /// Reads descriptions of the process and the system.
  ///
  /// These values are rounded, or put together from several facts. They are read only if this package's own stream
  /// cannot be used.
  private mutating func decodeDescriptions() {
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
