internal import DumpInspection
internal import IntermediateDump

/// An intermediate dump of an extreme process: every key of the schema, with values at the limits.
struct ExtremeDump {
  let process: ExtremeProcess
  private var numbers: ExtremeNumbers

  /// The dump of a seed.
  static func bytes(seed: UInt64, module: ModuleFile) -> [UInt8] {
    var numbers = ExtremeNumbers(seed: seed)
    let process = ExtremeProcess(&numbers, module: module)
    var dump = ExtremeDump(process: process, numbers: numbers)
    var bytes =
      IntermediateDumpEncoding.encode(sizeHint: 16 << 10) { writer in
        writer.header()
        dump.write(to: &writer)
        _ = writer.endDocument()
      } ?? []
    bytes[10] = process.isARM ? 2 : 1
    if dump.numbers.chance(4) { bytes[10] = UInt8(truncatingIfNeeded: dump.numbers.next()) }
    // Some dumps are truncated.
    if dump.numbers.chance(10) { bytes.removeLast(dump.numbers.below(bytes.count - 31)) }
    return bytes
  }

  private mutating func write(to writer: inout IntermediateDumpWriter) {
    writeDescriptions(to: &writer)
    writeException(to: &writer)
    writeThreads(to: &writer)
    writeMemory(to: &writer)
    writeModules(to: &writer)
    writeClient(to: &writer)
    writeRuntimes(to: &writer)
    map(.capture, 901...913, to: &writer)
    if numbers.chance(10) { map(.survival, 1201...1204, to: &writer) }
    if numbers.chance(20) { map(.dumpRequest, 1301...1307, to: &writer) }
    if numbers.chance(20) { map(.runEnd, 1465...1467, to: &writer) }
    if numbers.chance(20) { map(.verdict, 1631...1635, to: &writer) }
    if numbers.chance(30) { writeLinkMap(to: &writer) }
    if numbers.chance(30) { writeConversion(to: &writer) }
  }

  // MARK: - Values

  /// A map in which all or nearly all keys of a range have values.
  private mutating func map(
    _ key: IntermediateDumpKey, _ codes: ClosedRange<UInt16>,
    to writer: inout IntermediateDumpWriter
  ) {
    writer.startMap(key)
    values(codes, to: &writer)
    writer.end()
  }

  private mutating func values(
    _ codes: ClosedRange<UInt16>, to writer: inout IntermediateDumpWriter
  ) {
    for key in codes.compactMap(IntermediateDumpKey.init(rawValue:)) where numbers.chance(90) {
      value(key, to: &writer)
    }
  }

  private mutating func value(
    _ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter
  ) {
    switch key.kind {
    case .map, .array: return
    case .unsigned:
      let width = numbers.chance(90) ? 8 : numbers.pick([1, 2, 4])
      writer.unsigned(key, isCode(key) ? numbers.small() : numbers.number(), width: width)
    case .signed: writer.signed(key, Int64(bitPattern: numbers.small()))
    case .address: writer.unsigned(key, numbers.number())
    case .time: writer.signed(key, numbers.time())
    case .text: writer.text(key, numbers.text())
    case .bytes: writer.bytes(key, numbers.bytes(numbers.pick([0, 1, 8, 16, 20, 64])))
    }
  }

  /// True if only a few small numbers are valid for the key.
  private func isCode(_ key: IntermediateDumpKey) -> Bool {
    switch key {
    case .survivalOutcome, .requestKind, .hangTarget, .hangThreadEvidence, .runEndKind,
      .runEndCertainty, .annotationType, .annotationState, .captureMethod, .taskLayoutVersion,
      .trapErrorCode, .verdictCertainty:
      true
    default: false
    }
  }

  private mutating func writeDescriptions(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.process)
    // Readers use the first value of a key.
    if numbers.chance(50) { writer.unsigned(.processID, 100) }
    let limit = numbers.number()
    writer.text(
      .limitsText,
      "Limit                     Soft Limit           Hard Limit           Units\n"
        + "Max stack size            \(limit)   unlimited            bytes\n"
        + "Max open files            \(numbers.number())  \(numbers.number()) files\n"
        + "Max address space         \(numbers.number())  unlimited bytes\n"
        + "Max processes             \(numbers.number())  unlimited processes\n")
    writer.text(.processStatus, "VmSize:\t\(numbers.number()) kB\nPid:\t\(numbers.number())\n")
    writer.bytes(
      .auxiliaryVector,
      ExtremeBytes.word(9) + ExtremeBytes.word(numbers.number()) + numbers.words(4))
    values(100...126, to: &writer)
    value(.watchdogInterval, to: &writer)
    writer.end()
    writer.startMap(.system)
    let loads = (0..<3).map { _ in numbers.pick(["0.5", "nan", "inf", "-1", "1e999", "1e308"]) }
    writer.text(.loadAverage, loads.joined(separator: " "))
    writer.text(
      .processorText,
      "cpu family : \(numbers.number())\nmodel : \(numbers.number() & 0xFFFF)\nstepping : 65535\n")
    values(200...214, to: &writer)
    writer.end()
  }

  private mutating func writeException(to writer: inout IntermediateDumpWriter) {
    switch numbers.below(20) {
    case 0: return
    case 1: map(.exception, 300...309, to: &writer)
    default: writeFault(to: &writer)
    }
  }

  /// Writes fields of the exception that lead to many different findings.
  private mutating func writeFault(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.exception)
    writer.unsigned(.exceptionThreadID, 100, width: 4)
    let signal: Int64 = numbers.pick([11, 11, 11, 4, 5, 6, 7, 8, 13, 24, 25, 31])
    writer.signed(.signalNumber, signal, width: 4)
    writer.signed(.signalCode, numbers.pick([1, 2, 0x80, 0, -6, 4]), width: 4)
    writer.unsigned(.faultAddress, process.faultAddress)
    writer.bytes(.signalInfo, numbers.words(16))
    writer.unsigned(.trapNumber, numbers.pick([14, 13, 6]))
    writer.unsigned(.trapErrorCode, numbers.small())
    for key in [.fatalMessage, .abortMessage, .senderName] as [IntermediateDumpKey]
    where numbers.chance(20) { value(key, to: &writer) }
    writer.end()
  }

  // MARK: - Threads and memory

  private mutating func writeThreads(to writer: inout IntermediateDumpWriter) {
    for (index, thread) in process.threads.enumerated() {
      if index == 1 { writer.startArray(.threads) }
      writer.startMap(index == 0 ? .crashingThread : .thread)
      writer.unsigned(.threadID, thread.id, width: 4)
      if numbers.chance(90) {
        writer.bytes(.generalRegisters, thread.registers.flatMap { ExtremeBytes.word($0) })
      }
      if numbers.chance(30) { writer.bytes(.floatingPointState, numbers.bytes(528)) }
      writer.unsigned(.stackRegionStart, thread.stackStart)
      writer.unsigned(.stackRegionEnd, thread.stackEnd)
      for key in [
        .threadName, .threadState, .captureMethod, .threadPointer, .stackBytesOmitted,
        .blockedSignals, .schedulingPolicy, .niceValue,
        .threadProcessorTime,
      ] as [IntermediateDumpKey] { value(key, to: &writer) }
      if numbers.chance(20) {
        value(.threadStackPointer, to: &writer)
        value(.threadInstructionPointer, to: &writer)
      }
      writer.text(.systemCall, "\(numbers.number()) 0x0 0x1")
      writer.startArray(.stack)
      for piece in thread.stack { write(piece, to: &writer) }
      writer.end()
      writer.end()
    }
    if process.threads.count > 1 { writer.end() }
  }

  private mutating func write(
    _ piece: ExtremeProcess.Piece, to writer: inout IntermediateDumpWriter
  ) {
    writer.startMap(.memoryRegion)
    writer.unsigned(.regionAddress, piece.address)
    writer.bytes(.regionData, piece.bytes)
    writer.end()
  }

  private mutating func writeMemory(to writer: inout IntermediateDumpWriter) {
    writer.startArray(.memory)
    for piece in process.memory { write(piece, to: &writer) }
    writer.end()
    writer.startArray(.extraMemory)
    for _ in 0..<numbers.below(4) { map(.memoryRegion, 502...504, to: &writer) }
    writer.end()
    if numbers.chance(90) {
      writer.startArray(.mappings)
      writer.startMap(.mappingsChunk)
      writer.text(.mappingsText, process.mapsText)
      writer.end()
      writer.end()
    }
  }

  private mutating func writeModules(to writer: inout IntermediateDumpWriter) {
    writer.startArray(.modules)
    for module in process.modules {
      writer.startMap(.module)
      writer.unsigned(.moduleAddress, module.address)
      writer.text(.modulePath, module.path)
      writer.bytes(.moduleBuildID, module.buildID)
      writer.bytes(.moduleProgramHeaders, module.headers)
      if let size = module.size { writer.unsigned(.moduleSize, size) }
      writer.end()
    }
    if numbers.chance(20) { map(.module, 702...706, to: &writer) }
    writer.end()
  }

  private mutating func writeLinkMap(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.linkMap)
    values(1101...1107, to: &writer)
    writer.startArray(.linkEntries)
    for _ in 0..<numbers.below(3) { map(.linkEntry, 1110...1112, to: &writer) }
    writer.end()
    writer.end()
  }

  /// Writes what a converter adds, with names for addresses that are likely on the stacks.
  private mutating func writeConversion(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.conversion)
    value(.clientID, to: &writer)
    writer.startArray(.symbols)
    for thread in process.threads {
      for address in [thread.registers[16], thread.registers[32] &- 1, numbers.number()] {
        writer.startMap(.symbol)
        writer.unsigned(.symbolAddress, address)
        writer.startArray(.functions)
        for _ in 0..<numbers.below(3) { map(.function, 1615...1621, to: &writer) }
        writer.end()
        writer.end()
      }
    }
    writer.end()
    writer.end()
  }

  // MARK: - The program and its runtimes

  private mutating func writeClient(to writer: inout IntermediateDumpWriter) {
    guard numbers.chance(40) else { return }
    map(.client, 1401...1408, to: &writer)
    writer.bytes(.openContexts, openContexts())
    for (array, element, codes) in [
      (.annotations, .annotation, 802...803), (.simpleAnnotations, .annotation, 802...803),
      (.annotationObjects, .annotationObject, 1412...1414),
      (.breadcrumbs, .breadcrumb, 1422...1425), (.workBreadcrumbs, .breadcrumb, 1422...1425),
      (.contexts, .context, 1472...1475), (.attachments, .attachment, 1442...1446),
      (.userStreamFailures, .userStreamFailure, 1449...1449),
    ] as [(IntermediateDumpKey, IntermediateDumpKey, ClosedRange<UInt16>)] {
      writer.startArray(array)
      for _ in 0..<numbers.below(3) {
        writer.startMap(element)
        if element == .annotationObject {
          writer.text(.annotationName, numbers.text())
          writer.unsigned(.annotationData, numbers.chance(50) ? numbers.number() : 0x7FF8 << 48)
        }
        values(codes, to: &writer)
        writer.end()
      }
      writer.end()
    }
  }

  /// A table of open contexts whose entries are valid or have arbitrary bytes.
  private mutating func openContexts() -> [UInt8] {
    let shards = numbers.pick([0, 1, 8, numbers.number()])
    let head = ExtremeBytes.word(shards) + numbers.words(7)
    let lines = (0..<(shards == 1 ? 1 : 8)).map { _ in
      ExtremeBytes.word(numbers.pick([1, 3, numbers.number()])) + numbers.words(7)
    }
    let entries = (0..<numbers.below(12)).flatMap { _ in openContext() }
    return head + lines.flatMap(\.self) + entries
  }

  /// An entry with an arbitrary text and usually a correct checksum.
  private mutating func openContext() -> [UInt8] {
    let size = numbers.below(97) & ~7
    let head = numbers.words(1) + ExtremeBytes.word(UInt64(size)) + numbers.bytes(size)
    let time = numbers.number()
    func mixed(_ word: UInt64, at offset: Int) -> UInt64 {
      let product = word &* 0x9E37_79B9_7F4A_7C15
      return (product ^ product >> 32) &* (0x9E37_79B9_7F4A_7C15 &+ UInt64(offset))
    }
    var seal = 0x706D_2D63_6F6E_7478 as UInt64
    for offset in stride(from: 0, to: head.count, by: 8) {
      seal &+= mixed(head.littleEndian(at: offset, width: 8) ?? 0, at: offset + 8)
    }
    if numbers.chance(90) { seal &+= mixed(time, at: 120) }
    return ExtremeBytes.word(seal) + head + [UInt8](repeating: 0, count: 112 - head.count)
      + ExtremeBytes.word(time)
  }

  private mutating func writeRuntimes(to writer: inout IntermediateDumpWriter) {
    if numbers.chance(20) { map(.cxxException, 1511...1512, to: &writer) }
    writer.startArray(.tasks)
    for (index, address) in process.tasks.enumerated() {
      writer.startMap(.task)
      writer.unsigned(.taskThreadID, UInt64(100 + index), width: 4)
      writer.unsigned(.taskAddress, address)
      writer.unsigned(.taskLayoutVersion, 1, width: 4)
      writer.end()
    }
    writer.end()
  }
}
