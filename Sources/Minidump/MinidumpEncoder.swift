internal import IntermediateDump
internal import ProcessSnapshot

/// Lays out one minidump; the code for each stream is an extension in that stream's own source file.
struct MinidumpEncoder {
  private(set) var snapshot: ProcessSnapshot
  /// The threads in the minidump: at most 4,096, the crashing thread first.
  let threads: [ThreadSnapshot]
  /// The modules in the minidump: at most 2,048 that do not overlap, the executable first.
  private(set) var modules: [ModuleSnapshot] = []
  let plan: MemoryPlan
  var buffer = MinidumpBuffer()
  /// The location of the crashing thread's context, which the exception stream refers to as well.
  var crashedContext: MinidumpLocation?

  private typealias Stream = (
    type: MinidumpStreamType, encode: (inout MinidumpEncoder) -> MinidumpLocation
  )

  init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
    var threads = snapshot.threads
    if let id = snapshot.exception?.threadID,
      let index = threads.firstIndex(where: { $0.id == id }), index > 0
    {
      threads.insert(threads.remove(at: index), at: 0)
    }
    self.threads = Array(threads.prefix(MinidumpFormat.maximumThreads))
    plan = MemoryPlan(of: snapshot, threads: self.threads)
    modules = listedModules()
    countUnlisted()
  }

  /// Stores in the snapshot how many threads, modules and memory regions the minidump leaves out.
  ///
  /// If the snapshot already contains a larger number, for example from an earlier conversion, the larger number stays.
  private mutating func countUnlisted() {
    func count(_ unlisted: Int, _ known: UInt64?) -> UInt64? {
      unlisted > 0 ? max(UInt64(unlisted), known ?? 0) : known
    }
    let (all, capture) = (snapshot, snapshot.capture)
    snapshot.capture.threadsUnlisted = count(
      all.threads.count - threads.count, capture.threadsUnlisted)
    let omittedModules = Int(clamping: capture.modulesOmitted ?? 0)
    snapshot.capture.modulesUnlisted = count(
      omittedModules.clampedAdding(all.modules.count - modules.count), capture.modulesUnlisted)
    snapshot.capture.regionsUnlisted = count(plan.unlistedCount, capture.regionsUnlisted)
  }

  /// Encodes everything except the captured memory and the header's signature, which is written after the memory.
  ///
  /// - Returns: the bytes, and the offset at which captured memory starts.
  mutating func encodeHead() throws(MinidumpError) -> (bytes: [UInt8], memoryBase: UInt64) {
    let streams = presentStreams()
    appendHeader(streamCount: streams.count)
    buffer.appendZeros(streams.count * MinidumpFormat.directoryEntrySize)
    for (index, stream) in streams.enumerated() {
      let location = stream.encode(&self)
      let entry = MinidumpFormat.headerSize + index * MinidumpFormat.directoryEntrySize
      buffer.patch(stream.type.rawValue, at: entry)
      buffer.patch(location.size, at: entry + 4)
      buffer.patch(location.rva, at: entry + 8)
    }
    buffer.align(to: 16)
    let base = UInt64(buffer.count)
    let (size, overflow) = base.addingReportingOverflow(plan.size)
    guard !overflow, size <= UInt64(UInt32.max), buffer.resolveMemoryReferences(base: base) else {
      throw MinidumpError(.tooLarge, "\(size) bytes")
    }
    return (buffer.bytes, base)
  }

  /// The streams for which this snapshot has data, in the order of the file.
  ///
  /// The memory list is last, as in Crashpad's files.
  private func presentStreams() -> [Stream] {
    var streams: [Stream] = [
      (.systemInfo, { $0.encodeSystemInfo() }),
      (.miscInfo, { $0.encodeMiscInfo() }),
      (.threadList, { $0.encodeThreadList() }),
    ]
    if threads.contains(where: { $0.name != nil }) {
      streams.append((.threadNames, { $0.encodeThreadNames() }))
    }
    if snapshot.exception != nil { streams.append((.exception, { $0.encodeException() })) }
    streams.append((.moduleList, { $0.encodeModuleList() }))
    streams.append((.crashpadInfo, { $0.encodeCrashpadInfo() }))
    for file in processFiles {
      streams.append((file.type, { $0.buffer.appendStream(file.contents) }))
    }
    if let map = snapshot.linkMap {
      streams.append((.linuxDsoDebug, { $0.encodeLinkMap(map) }))
    }
    if let document = snapshot.encoded() {
      streams.append((.postmortemDump, { $0.buffer.appendStream(document) }))
    }
    if !snapshot.mappings.isEmpty {
      streams.append((.memoryInfoList, { $0.encodeMemoryInfoList() }))
    }
    for stream in snapshot.userStreams {
      let type = MinidumpStreamType(rawValue: stream.type)
      streams.append((type, { $0.buffer.appendStream(stream.bytes) }))
    }
    streams.append((.memoryList, { $0.encodeMemoryList() }))
    return streams
  }

  private mutating func appendHeader(streamCount: Int) {
    // A placeholder for the signature, which is written last.
    buffer.append(UInt32(0))
    buffer.append(MinidumpFormat.version)
    buffer.append(UInt32(truncatingIfNeeded: streamCount))
    buffer.append(UInt32(truncatingIfNeeded: MinidumpFormat.headerSize))
    // The checksum, which writers may leave at 0.
    buffer.append(UInt32(0))
    let seconds = (snapshot.process.crashTime ?? 0) / 1_000_000_000
    buffer.append(UInt32(exactly: seconds) ?? 0)
    // The flags: MiniDumpNormal.
    buffer.append(UInt64(0))
  }
}
