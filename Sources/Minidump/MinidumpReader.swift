package import IntermediateDump
public import ProcessSnapshot

/// Reads minidumps of this package, and those of Breakpad and Crashpad, for Linux and partly for other systems.
public enum MinidumpReader {
  /// Converts a minidump to a snapshot.
  ///
  /// Reading never traps, whatever bytes the file contains, and uses at most a few times as much memory as the file has
  /// bytes. A damaged stream is left out, or only its readable entries are used, and `capture.damage` describes the
  /// damage. Values that a foreign writer did not record stay nil. For a minidump of this package, the result is the
  /// snapshot that was written, except for the parts that the writer left out because of the format's limits.
  ///
  /// - Parameter bytes: the whole file.
  /// - Returns: the snapshot. If the minidump lacks a stream, the snapshot lacks only the facts of this stream.
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

/// Reads one minidump; the code for each stream is an extension in that stream's own source file.
struct MinidumpDecoder {
  var file: MinidumpFile
  var snapshot = ProcessSnapshot(architecture: .x86_64)
  /// The path of the first module in the minidump, usually the executable; nil if there is no module or its path is
  /// empty.
  var mainModulePath: String?
  /// For each entry of the module list, the index of the module in the snapshot.
  var moduleIndices: [Int] = []
  /// The annotations of the modules, in the order of Crashpad's list.
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

  /// Reads this package's own stream, which contains the snapshot as an intermediate dump, and the memory lists.
  ///
  /// - Returns: nil for a minidump of another writer. Also nil if the stream is damaged; the damage is then recorded.
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

  /// Reads the threads, the exception, the modules and the memory from the streams that other programs also write.
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

  /// Reads descriptions of the process and the system from the streams that other programs also write.
  ///
  /// These streams have less detail than this package's own stream: times in whole seconds, and the kernel's name,
  /// release and version in one text.
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
