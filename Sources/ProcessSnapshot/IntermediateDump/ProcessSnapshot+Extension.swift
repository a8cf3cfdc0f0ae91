internal import IntermediateDump

/// What a minidump has no standard place for, in the keys of an intermediate dump.
///
/// A minidump of ours carries it as a stream of its own (type 0x504D0001), so that a report read
/// back from the minidump is the one that was captured. `Docs/Minidump.md` lists the contents.
extension ProcessSnapshot {
  /// Names of simple annotations under which a minidump also carries product and version, as
  /// Crashpad's clients do.
  package static var productAnnotation: String { "prod" }
  package static var versionAnnotation: String { "ver" }

  /// Bytes of XSAVE areas that an extension holds at most, those of the first threads.
  static var extendedStateLimit: Int { 8 << 20 }

  /// Encodes everything that the standard streams of a minidump cannot carry.
  ///
  /// - Returns: a complete intermediate dump document; nil if it came to more than 256 MiB.
  public func extensionDocument() -> [UInt8]? {
    let encoded = IntermediateDumpEncoding.encode(sizeHint: 4096 + threads.count * 1024) { writer in
      writer.header()
      encodeDescriptions(&writer)
      encodeException(&writer)
      encodeThreads(&writer)
      encodeModules(&writer)
      encodeLinkMap(&writer)
      encodeAnnotations(&writer)
      encodeCapture(&writer)
      survival?.encode(to: &writer)
      request?.encode(to: &writer)
      encodeRuntimes(to: &writer)
      client.encode(to: &writer)
      end?.encode(to: &writer)
      _ = writer.endDocument()
    }
    guard var bytes = encoded else { return nil }
    // The writer names the machine it runs on; a dump of another one may be converted here.
    bytes[10] = architecture == .arm64 ? 2 : 1
    return bytes
  }

  private func encodeDescriptions(_ writer: inout IntermediateDumpWriter) {
    writer.startMap(.process)
    writer.bytes(.reportID, reportID?.bytes)
    writer.optional(.dumpDigest, dumpDigest)
    writer.text(.identifier, process.identifier)
    writer.optional(.processID, process.processID)
    writer.optional(.parentProcessID, process.parentProcessID)
    writer.text(.executablePath, process.executablePath)
    writer.text(.product, process.product)
    writer.text(.version, process.version)
    writer.text(.environment, process.environment)
    writer.optional(.launchTime, process.launchTime)
    writer.optional(.crashTime, process.crashTime)
    writer.optional(.userTime, process.userTime)
    writer.optional(.systemTime, process.systemTime)
    writer.optional(.launchUptime, process.launchUptime)
    writer.optional(.crashUptime, process.crashUptime)
    encodeResources(&writer)
    writer.end()
    writer.startMap(.system)
    writer.text(.kernelName, system.kernelName)
    writer.text(.kernelRelease, system.kernelRelease)
    writer.text(.kernelVersion, system.kernelVersion)
    writer.text(.machine, system.machine)
    writer.text(.distribution, system.distribution)
    writer.text(.libraryVersion, system.libraryVersion)
    writer.optional(.processorCount, system.processorCount)
    writer.optional(.pageSize, system.pageSize)
    writer.text(.bootID, system.bootID)
    writer.text(.loadAverage, system.loadAverage)
    writer.text(.processorModel, system.processorModel)
    writer.text(.compiler, system.compiler)
    writer.end()
  }

  private func encodeResources(_ writer: inout IntermediateDumpWriter) {
    writer.bytes(.limitsText, process.limitsText)
    writer.optional(.descriptorCount, process.descriptorCount)
    writer.optional(.mappingCount, process.mappingCount)
    writer.optional(.mappingLimit, process.mappingLimit)
    writer.optional(.watchdogInterval, process.watchdogInterval)
    writer.text(.controlGroup, process.controlGroup.path)
    writer.optional(.memoryUsed, process.controlGroup.memoryUsed)
    writer.optional(.memoryLimit, process.controlGroup.memoryLimit)
    writer.optional(.tasksUsed, process.controlGroup.tasksUsed)
    writer.optional(.tasksLimit, process.controlGroup.tasksLimit)
  }

  private func encodeException(_ writer: inout IntermediateDumpWriter) {
    guard let exception else { return }
    writer.startMap(.exception)
    writer.unsigned(.exceptionThreadID, UInt64(exception.threadID), width: 4)
    writer.optional(.signalNumber, exception.signal)
    writer.optional(.signalCode, exception.code)
    writer.address(.faultAddress, exception.address)
    writer.bytes(.signalInfo, exception.signalInfo)
    writer.optional(.trapNumber, exception.trapNumber)
    writer.optional(.trapErrorCode, exception.trapErrorCode)
    writer.text(.fatalMessage, exception.fatalMessage)
    writer.text(.abortMessage, exception.abortMessage)
    writer.text(.senderName, exception.senderName)
    writer.end()
  }

  private func encodeThreads(_ writer: inout IntermediateDumpWriter) {
    var extendedStateLeft = Self.extendedStateLimit
    writer.startArray(.threads)
    for thread in threads {
      writer.startMap(.thread)
      writer.unsigned(.threadID, UInt64(thread.id), width: 4)
      if let state = thread.state?.asciiValue {
        writer.unsigned(.threadState, UInt64(state), width: 1)
      }
      if let method = thread.captureMethod {
        writer.unsigned(.captureMethod, UInt64(method.rawValue), width: 1)
      }
      writer.address(.threadPointer, thread.threadPointer)
      if thread.context == nil || thread.stackPointer != thread.context?.stackPointer {
        writer.address(.threadStackPointer, thread.stackPointer)
      }
      if thread.context == nil || thread.instructionPointer != thread.context?.instructionPointer {
        writer.address(.threadInstructionPointer, thread.instructionPointer)
      }
      writer.optional(.blockedSignals, thread.blockedSignals)
      writer.optional(.schedulingPolicy, thread.schedulingPolicy)
      writer.optional(.niceValue, thread.niceValue)
      writer.text(.systemCall, thread.systemCall)
      writer.address(.stackRegionStart, thread.stackRange?.start)
      writer.address(.stackRegionEnd, thread.stackRange?.clampedEnd)
      writer.unsigned(.stackBytesOmitted, thread.stackBytesOmitted)
      if case .x86_64(let context)? = thread.context {
        let area = context.floatingPointState
        if area.count > X86_64Context.legacyAreaSize, area.count <= extendedStateLeft {
          extendedStateLeft -= area.count
          writer.bytes(.floatingPointState, area)
        }
      }
      writer.startArray(.stack)
      for region in thread.stack {
        // The bytes are in the minidump's memory list.
        writer.startMap(.memoryRegion)
        writer.address(.regionAddress, region.address)
        writer.unsigned(.regionSize, UInt64(region.bytes.count))
        writer.end()
      }
      writer.end()
      writer.end()
    }
    writer.end()
  }

  private func encodeModules(_ writer: inout IntermediateDumpWriter) {
    writer.startArray(.modules)
    for module in modules where module.isDeleted {
      writer.startMap(.module)
      writer.address(.moduleAddress, module.address)
      writer.text(.modulePath, module.path + ModuleSnapshot.deletedMark)
      writer.end()
    }
    writer.end()
  }

  /// What the stream LinuxDsoDebug has no field for.
  private func encodeLinkMap(_ writer: inout IntermediateDumpWriter) {
    guard let linkMap else { return }
    writer.startMap(.linkMap)
    writer.optional(.linkState, linkMap.state)
    writer.address(.linkDebugAddress, linkMap.debugAddress)
    writer.end()
  }

  private func encodeAnnotations(_ writer: inout IntermediateDumpWriter) {
    writer.startArray(.annotations)
    for name in [Self.productAnnotation, Self.versionAnnotation] {
      // Only these two: under their names the minidump's own annotations may hold product and
      // version instead.
      guard let value = annotations[name] else { continue }
      writer.startMap(.annotation)
      writer.text(.annotationName, name)
      writer.text(.annotationValue, value)
      writer.end()
    }
    writer.end()
  }

  private func encodeCapture(_ writer: inout IntermediateDumpWriter) {
    writer.startMap(.capture)
    writer.unsigned(.isIncomplete, capture.isComplete ? 0 : 1, width: 1)
    writer.text(.damage, capture.damage)
    writer.optional(.threadsFound, capture.threadsFound)
    writer.optional(.threadsStopped, capture.threadsStopped)
    writer.optional(.threadsReadFromKernel, capture.threadsReadFromKernel)
    writer.optional(.threadsOmitted, capture.threadsOmitted)
    writer.optional(.sectionsAbandoned, capture.sectionsAbandoned)
    writer.optional(.captureTime, capture.captureTime)
    writer.optional(.bytesOmitted, capture.bytesOmitted)
    writer.optional(.threadsUnlisted, capture.threadsUnlisted)
    writer.optional(.modulesUnlisted, capture.modulesUnlisted)
    writer.optional(.regionsUnlisted, capture.regionsUnlisted)
    writer.end()
  }
}

extension IntermediateDumpWriter {
  mutating func address(_ key: IntermediateDumpKey, _ address: Address?) {
    optional(key, address?.value)
  }

  /// Writes an integer in its own width; nothing where it is nil.
  mutating func optional<Value: FixedWidthInteger>(_ key: IntermediateDumpKey, _ value: Value?) {
    guard let value else { return }
    unsigned(key, UInt64(truncatingIfNeeded: value), width: Value.bitWidth / 8)
  }
}
