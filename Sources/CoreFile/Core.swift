internal import IntermediateDump
internal import ProcessSnapshot

/// Converts the contents of a core file to the tokens of an intermediate dump.
struct Core {
  let image: CoreImage
  let process: CoreProcess
  /// The memory in the core file, without the arguments, the environment and the auxiliary vector on the stack.
  let memory: MemorySnapshot
  private let modules: [CoreModule]
  private let mappings: CoreMappings
  private let linkMap: LinkMap?
  private let commandLine: [UInt8]?

  /// The size of the red zone, the memory below the stack pointer that a function may use without moving the stack
  /// pointer.
  ///
  /// arm64 has no red zone, so there the size counts as 0.
  ///
  /// Source: System V ABI AMD64 supplement, 3.2.2.
  private static let redZone: UInt64 = 128
  /// The maximum size of floating-point state in bytes; larger state is left out.
  private static let maximumStateSize = 1 << 14
  private static let legacyStateSize = 512
  private static let chunkSize = 1 << 20
  /// The maximum number of memory pieces that are written for one stack.
  private static let maximumPieces = 256

  init(image: CoreImage, process: CoreProcess, memory: MemorySnapshot, readsFiles: Bool) {
    let initialStack = InitialStack(of: process, image, in: memory)
    var process = process
    if process.files.isEmpty {
      process.files = LinkedFiles(of: process, image, in: memory).list
    }
    (self.image, self.process) = (image, process)
    self.memory = initialStack.range.map(memory.excluding) ?? memory
    commandLine = initialStack.arguments
    var modules = CoreModule.all(process, in: memory, readsFiles: readsFiles)
    let program = modules.first { $0.source == .program }
    linkMap = program.flatMap { LinkMap(of: $0, in: memory) }
    if let linkMap {
      let sections = Set(linkMap.entries.map(\.dynamicSection))
      for index in modules.indices where modules[index].source == nil {
        guard let section = modules[index].segment(ofType: 2) else { continue }
        if sections.contains(section.start) { modules[index].source = .linker }
      }
    }
    mappings = CoreMappings(of: image, process, modules)
    // A file that the process mapped only to read or write it is no module.
    let code = Set(mappings.all.filter { $0.protection.contains(.execute) }.map(\.path))
    self.modules = modules.filter { $0.source != nil || code.contains($0.path) }
  }

  private var first: CoreThread { process.threads[0] }

  /// The report's ID, derived from a digest of the core file's notes.
  ///
  /// A copy of the core file, a compressed copy, and a copy that is cut off after the notes have the same digest.
  private var reportID: ReportID? {
    var digest = DumpDigest()
    for note in image.notes {
      _ = image.bytes.forEachSlice(of: note) { digest.add($0) }
    }
    return Self.family?.other(for: digest.value)
  }

  /// A fixed ID, from which the report IDs of core files are derived; no report has this ID itself.
  private static let family = ReportID("c02ef11e-0000-4000-8000-000000000000")

  /// The intermediate dump; nil if it is too large for `IntermediateDumpEncoding`.
  var dump: [UInt8]? {
    let hint = 1 << 16 + process.threads.count * 2048 + mappings.text.count
    let encoded = IntermediateDumpEncoding.encode(sizeHint: hint) { writer in
      writer.header()
      writeProcess(to: &writer)
      writeException(to: &writer)
      write(first, as: .crashingThread, isFirst: true, to: &writer)
      writer.startArray(.threads)
      for thread in process.threads.dropFirst() {
        write(thread, as: .thread, isFirst: false, to: &writer)
      }
      writer.end()
      writeMappings(to: &writer)
      writeModules(to: &writer)
      if let linkMap { writer.map(.linkMap, linkMap, LinkMap.mapFields) }
      writeSystem(to: &writer)
      writeCapture(to: &writer)
      _ = writer.endDocument()
    }
    guard var bytes = encoded else { return nil }
    // The writer stores this machine's architecture, so replace it with the architecture of the core file.
    bytes[10] = image.architecture == .arm64 ? 2 : 1
    return bytes
  }

  private func writeProcess(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.process)
    writer.write(.reportID, reportID)
    if let id = process.processID { writer.unsigned(.processID, UInt64(id), width: 4) }
    if let id = process.parentProcessID { writer.unsigned(.parentProcessID, UInt64(id), width: 4) }
    if let program = modules.first(where: { $0.source == .program }), !program.path.isEmpty {
      writer.text(.executablePath, program.path)
    }
    // In the main thread's note, the kernel stores the CPU time of all threads together, so these are the process's
    // times.
    if let main = process.threads.first(where: { $0.id == process.processID }) {
      writer.unsigned(.userTime, main.userTime)
      writer.unsigned(.systemTime, main.systemTime)
    }
    if !process.auxiliaryVector.isEmpty {
      writer.bytes(.auxiliaryVector, process.auxiliaryVector)
    }
    writer.bytes(.commandLine, commandLine)
    writer.end()
  }

  /// Writes the exception.
  ///
  /// If no signal ended the process, a debugger wrote the core file of a live process. In this case, a dump request is
  /// written too, and the exception has no signal.
  private func writeException(to writer: inout IntermediateDumpWriter) {
    let signal = first.endingSignal
    if signal == nil {
      writer.startMap(.dumpRequest)
      writer.write(.requestKind, RequestKind.coreFile)
      writer.end()
    }
    writer.startMap(.exception)
    writer.unsigned(.exceptionThreadID, UInt64(first.id), width: 4)
    if let signal {
      writer.signed(.signalNumber, Int64(signal), width: 4)
      if let information = first.signalInformation,
        information.littleEndian(at: 0, as: Int32.self) == signal,
        let code = information.littleEndian(at: 8, as: Int32.self),
        let address = information.littleEndian(at: 16, as: UInt64.self)
      {
        writer.signed(.signalCode, Int64(code), width: 4)
        writer.unsigned(.faultAddress, address)
        writer.bytes(.signalInfo, information)
      }
    }
    writer.end()
  }

  private func write(
    _ thread: CoreThread, as key: IntermediateDumpKey, isFirst: Bool,
    to writer: inout IntermediateDumpWriter
  ) {
    writer.startMap(key)
    writer.unsigned(.threadID, UInt64(thread.id), width: 4)
    if thread.id == process.processID, !process.name.isEmpty {
      writer.bytes(.threadName, process.name)
    }
    if let pointer = thread.threadPointer, pointer != 0 {
      writer.unsigned(.threadPointer, pointer)
    }
    writer.unsigned(.blockedSignals, thread.blockedSignals)
    if isFirst, thread.id != process.processID {
      writer.unsigned(.threadProcessorTime, thread.userTime.clampedAdding(thread.systemTime))
    }
    if let call = thread.waitingCall(image.architecture) {
      writer.text(.systemCall, "\(call)")
    }
    writer.bytes(.generalRegisters, thread.registers)
    writer.bytes(.floatingPointState, floatingPointState(of: thread, isWhole: isFirst))
    writeStack(of: thread, to: &writer)
    writer.end()
  }

  /// The floating-point state in the layout of the kernel's signal frame; nil if the core file has no such state of a
  /// plausible size.
  private func floatingPointState(of thread: CoreThread, isWhole: Bool) -> [UInt8]? {
    if image.architecture == .x86_64, isWhole, let place = thread.extendedState,
      place.count <= Self.maximumStateSize
    {
      return image.bytes.slice(place).map(Array.init)
    }
    guard let place = thread.floatingPoint, place.count >= Self.legacyStateSize,
      place.count <= Self.maximumStateSize, let state = image.bytes.slice(place)
    else { return nil }
    guard image.architecture == .arm64 else { return Array(state.prefix(Self.legacyStateSize)) }
    // A core file contains `struct user_fpsimd_state`: the vectors come first, then fpsr and fpcr. In a signal frame,
    // magic and size come first, and the vectors last.
    var bytes: [UInt8] = []
    for word in [0x4650_8001, 528] as [UInt32] { bytes.append(littleEndian: word) }
    return bytes + state.dropFirst(512).prefix(8) + state.prefix(512)
  }

  private func writeStack(of thread: CoreThread, to writer: inout IntermediateDumpWriter) {
    guard let stack = stack(around: thread.stackPointer) else { return }
    writer.unsigned(.stackRegionStart, stack.start.value)
    writer.unsigned(.stackRegionEnd, stack.clampedEnd.value)
    let zone = image.architecture == .x86_64 ? Self.redZone : 0
    let start = max(stack.start, thread.stackPointer.clampedSubtracting(zone))
    let pieces = memory.regions(in: AddressRange(from: start, to: stack.clampedEnd))
    writer.startArray(.stack)
    for piece in pieces.prefix(Self.maximumPieces) {
      writer.startMap(.memoryRegion)
      writer.unsigned(.regionAddress, piece.address.value)
      writer.unsigned(.regionSize, UInt64(piece.count))
      writer.end()
    }
    writer.end()
  }

  /// The readable mapping that contains a stack pointer, or else the next readable mapping above the stack pointer.
  private func stack(around pointer: Address) -> AddressRange? {
    let all = mappings.all
    let index = all.partitioningIndex { !$0.range.ends(atOrBelow: pointer) }
    return all[index...].first { $0.protection.contains(.read) }?.range
  }

  private func writeMappings(to writer: inout IntermediateDumpWriter) {
    let text = mappings.text
    writer.startArray(.mappings)
    for start in stride(from: 0, to: text.count, by: Self.chunkSize) {
      writer.startMap(.mappingsChunk)
      writer.bytes(.mappingsText, Array(text[start..<min(start + Self.chunkSize, text.count)]))
      writer.end()
    }
    writer.end()
  }

  private func writeModules(to writer: inout IntermediateDumpWriter) {
    writer.startArray(.modules)
    for module in modules {
      writer.startMap(.module)
      writer.unsigned(.moduleAddress, module.address.value)
      writer.write(.moduleSource, module.source)
      if !module.path.isEmpty {
        writer.text(.modulePath, module.path.replacing("\n", with: "\\012"))
      }
      if !module.programHeaders.isEmpty {
        writer.bytes(.moduleProgramHeaders, module.programHeaders)
      }
      if !module.buildID.isEmpty { writer.bytes(.moduleBuildID, module.buildID) }
      writer.end()
    }
    writer.end()
  }

  private func writeSystem(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.system)
    writer.text(.kernelName, "Linux")
    writer.text(.machine, image.architecture == .arm64 ? "aarch64" : "x86_64")
    if let size = process.pageSize { writer.unsigned(.pageSize, size) }
    writer.end()
  }

  private func writeCapture(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.capture)
    writer.unsigned(.isCoreFile, 1, width: 1)
    writer.unsigned(
      .threadsFound, UInt64(process.threads.count + process.omittedThreads))
    if process.omittedThreads > 0 {
      writer.unsigned(.threadsOmitted, UInt64(process.omittedThreads))
    }
    if let damage = image.damage {
      writer.unsigned(.isIncomplete, 1, width: 1)
      writer.text(.damage, damage)
    }
    writer.end()
  }
}
