package import IntermediateDump

// What the keys of the schema are in a snapshot: each bound once, for reading dumps and for writing
// the one that a minidump carries. What needs more than its own map (threads, modules, mappings,
// memory) is read and written in the files beside this one.

extension Address: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let value = map.unsigned(key) else { return nil }
    self.init(value)
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.unsigned(key, value)
  }

  package static var kinds: Set<IntermediateDumpKeyKind> { [.address] }
  package static var storedSize: Int? { 8 }
}

// MARK: - The process and its system

extension ProcessDescription {
  static let mapFields = MapFields(
    ProcessDescription(),
    [
      .optional(.identifier, \.identifier),
      .optional(.processID, \.processID),
      .optional(.parentProcessID, \.parentProcessID),
      .optional(.executablePath, \.executablePath),
      .optional(.product, \.product),
      .optional(.version, \.version),
      .optional(.environment, \.environment),
      .optional(.launchTime, \.launchTime),
      .optional(.crashTime, \.crashTime),
      .optional(.launchUptime, \.launchUptime),
      .optional(.crashUptime, \.crashUptime),
      .optional(.userTime, \.userTime),
      .optional(.systemTime, \.systemTime),
      .optional(.processStatus, \.statusText),
      .optional(.auxiliaryVector, \.auxiliaryVector),
      .optional(.commandLine, \.commandLine),
      .optional(.limitsText, \.limitsText),
      .optional(.descriptorCount, \.descriptorCount),
      .optional(.mappingCount, \.mappingCount),
      .optional(.mappingLimit, \.mappingLimit),
      .optional(.watchdogInterval, \.watchdogInterval),
    ] + Field.within(\.controlGroup, ControlGroupUsage.mapFields))
}

extension ControlGroupUsage {
  static let mapFields = MapFields(
    ControlGroupUsage(),
    [
      .optional(.controlGroup, \.path),
      .optional(.memoryUsed, \.memoryUsed),
      .optional(.memoryLimit, \.memoryLimit),
      .optional(.tasksUsed, \.tasksUsed),
      .optional(.tasksLimit, \.tasksLimit),
    ])
}

extension SystemDescription {
  static let mapFields = MapFields(
    SystemDescription(),
    [
      .optional(.kernelName, \.kernelName),
      .optional(.kernelRelease, \.kernelRelease),
      .optional(.kernelVersion, \.kernelVersion),
      .optional(.machine, \.machine),
      .optional(.distribution, \.distribution),
      .optional(.libraryVersion, \.libraryVersion),
      .optional(.processorCount, \.processorCount),
      .optional(.pageSize, \.pageSize),
      .optional(.bootID, \.bootID),
      .optional(.loadAverage, \.loadAverage),
      .optional(.processorModel, \.processorModel),
      .optional(.processorText, \.processorText),
      .optional(.releaseText, \.releaseText),
      .optional(.compiler, \.compiler),
    ])
}

extension CaptureQuality {
  static let mapFields = MapFields(
    CaptureQuality(),
    [
      .optional(.threadsFound, \.threadsFound),
      .optional(.threadsStopped, \.threadsStopped),
      .optional(.threadsReadFromKernel, \.threadsReadFromKernel),
      .optional(.threadsOmitted, \.threadsOmitted),
      .optional(.sectionsAbandoned, \.sectionsAbandoned),
      .optional(.captureTime, \.captureTime),
      .optional(.bytesOmitted, \.bytesOmitted),
      .optional(.threadsUnlisted, \.threadsUnlisted),
      .optional(.modulesUnlisted, \.modulesUnlisted),
      .optional(.regionsUnlisted, \.regionsUnlisted),
      // What a handler says of itself becomes what the next two say.
      Field(.writerError, [.signed], size: 4) { map, capture in
        guard let error = map.signed(.writerError), error != 0 else { return false }
        capture.isComplete = false
        capture.damage = "the handler could not write everything (errno \(error))"
        return true
      } write: { _, _ in
      },
      Field(.isIncomplete, [.unsigned], size: 1) { map, capture in
        guard let flag = map.unsigned(.isIncomplete) else { return false }
        capture.isComplete = flag == 0
        return true
      } write: { capture, writer in
        writer.unsigned(.isIncomplete, capture.isComplete ? 0 : 1, width: 1)
      },
      .optional(.damage, \.damage),
    ])
}

// MARK: - The crash

extension ExceptionSnapshot {
  /// All but the registers, which are the crashing thread's.
  package static let mapFields = MapFields(
    ExceptionSnapshot(threadID: 0),
    [
      .value(.exceptionThreadID, \.threadID),
      .optional(.signalNumber, \.signal),
      .optional(.signalCode, \.code),
      Field(.faultAddress, [.address], size: 8) { map, exception in
        guard hasAddress(signal: exception.signal, code: exception.code) else {
          exception.address = nil
          return false
        }
        exception.address = map[.faultAddress] ?? exception.address
        return true
      } write: { exception, writer in
        writer.write(.faultAddress, exception.address)
      },
      .optional(.signalInfo, \.signalInfo),
      .optional(.trapNumber, \.trapNumber),
      .optional(.trapErrorCode, \.trapErrorCode),
      .optional(.fatalMessage, \.fatalMessage),
      .optional(.abortMessage, \.abortMessage),
      .optional(.senderName, \.senderName),
    ])
}

extension ThreadSnapshot.CaptureMethod: FieldValue {}

extension ThreadSnapshot {
  /// All but registers and stack.
  package static let mapFields = MapFields(
    ThreadSnapshot(id: 0),
    [
      .required(.threadID, \.id),
      Field(.threadName, [.text]) { map, thread in
        thread.name = map.data(.threadName).flatMap(name(unescaping:)) ?? thread.name
        return thread.name != nil
      } write: { thread, writer in
        writer.write(.threadName, thread.name.map(escaped(name:)))
      },
      Field(.threadState, [.unsigned], size: 1) { map, thread in
        guard let letter: UInt8 = map[.threadState], letter > 0x20, letter < 0x7F else {
          return false
        }
        thread.state = Character(Unicode.Scalar(letter))
        return true
      } write: { thread, writer in
        writer.write(.threadState, thread.state?.asciiValue)
      },
      .optional(.captureMethod, \.captureMethod),
      .optional(.threadPointer, \.threadPointer),
      .optional(.threadStackPointer, \.stackPointer),
      .optional(.threadInstructionPointer, \.instructionPointer),
      .optional(.blockedSignals, \.blockedSignals),
      .optional(.schedulingPolicy, \.schedulingPolicy),
      .optional(.niceValue, \.niceValue),
      .optional(.systemCall, \.systemCall),
      Field(.stackRegionStart, [.address], size: 8) { map, thread in
        guard let start: Address = map[.stackRegionStart],
          let end: Address = map[.stackRegionEnd], start < end
        else { return false }
        thread.stackRange = AddressRange(from: start, to: end)
        return true
      } write: { thread, writer in
        writer.write(.stackRegionStart, thread.stackRange?.start)
        writer.write(.stackRegionEnd, thread.stackRange?.clampedEnd)
      },
      .value(.stackBytesOmitted, \.stackBytesOmitted),
    ])
}

extension LinkMap {
  /// Entries taken at most; the handler writes no more.
  package static var maximumEntries: Int { 2048 }

  package static let mapFields = MapFields(
    LinkMap(),
    [
      .value(.linkVersion, \.version),
      .optional(.linkState, \.state),
      .value(.linkBreakpoint, \.breakpoint),
      .value(.linkLoaderBase, \.loaderBase),
      .optional(.linkDebugAddress, \.debugAddress),
      .value(.dynamicSection, \.dynamicSection),
      .value(.dynamicData, \.dynamicData),
      .array(
        .linkEntries, of: .linkEntry, \.entries, Entry.mapFields, limit: maximumEntries),
    ])
}

extension LinkMap.Entry {
  static let mapFields = MapFields(
    LinkMap.Entry(address: 0, dynamicSection: 0, name: ""),
    [
      .value(.linkAddress, \.address),
      .value(.linkDynamic, \.dynamicSection),
      .value(.linkName, \.name),
    ])
}

extension Survival.Outcome: FieldValue {}

extension Survival {
  static let mapFields = MapFields(
    Survival(),
    [
      .optional(.survivalOutcome, \.outcome),
      .optional(.previousHandler, \.previousHandler),
      .optional(.survivedCrashes, \.survivedCrashes),
      .optional(.precedingReport, \.precedingReport),
    ])
}

extension DumpRequest.Kind: FieldValue {}
extension DumpRequest.Target: FieldValue {}
extension DumpRequest.ThreadEvidence: FieldValue {}

extension DumpRequest {
  static let mapFields = MapFields(
    DumpRequest(),
    [
      .optional(.requestKind, \.kind),
      .optional(.hangTarget, \.target),
      .optional(.hangName, \.name),
      .optional(.hangThreshold, \.threshold),
      .optional(.hangTime, \.hangTime),
      .optional(.hangProcessorTime, \.processorTime),
      .optional(.hangThreadEvidence, \.threadEvidence),
    ])
}

extension RunEnd.Kind: FieldValue {}
extension RunEnd.Certainty: FieldValue {}

extension RunEnd {
  static let mapFields = MapFields(
    RunEnd(),
    [
      .optional(.runEndKind, \.kind),
      .optional(.runEndCertainty, \.certainty),
      .optional(.signalNumber, \.signal),
      .lines(.runEndEvidence, \.evidence),
      .optional(.evidenceHangReport, \.hangReport),
    ])
}

extension TaskSnapshot {
  static let mapFields = MapFields(
    TaskSnapshot(threadID: 0, address: 0, layoutVersion: 0),
    [
      .required(.taskThreadID, \.threadID),
      .required(.taskAddress, \.address),
      .value(.taskLayoutVersion, \.layoutVersion),
    ])
}

extension CxxException {
  static let mapFields = MapFields(
    CxxException(typeName: nil),
    [
      .optional(.cxxTypeName, \.typeName),
      .optional(.cxxMessage, \.message),
    ])
}

// MARK: - What the program told

extension ClientAnnotation.State: FieldValue {}

extension ClientAnnotation {
  /// One set through `SimpleAnnotations`.
  static let simpleFields = MapFields(
    ClientAnnotation(name: nil, value: nil),
    [
      .optional(.annotationName, \.name),
      Field(.annotationValue, [.text]) { map, annotation in
        annotation.value = map.text(.annotationValue).map(Value.text)
        return annotation.value != nil
      } write: { annotation, writer in
        writer.write(.annotationValue, annotation.text)
      },
      .optional(.annotationState, \.state),
    ])

  /// One that has a type.
  static let mapFields = MapFields(
    ClientAnnotation(name: nil, value: nil),
    [
      .optional(.annotationName, \.name),
      Field(.annotationType, [.unsigned], size: 1) { map, annotation in
        annotation.value = Value(reading: map)
        return annotation.value != nil
      } write: { annotation, writer in
        annotation.value?.write(to: &writer)
      },
      .optional(.annotationState, \.state),
    ])
}

extension ClientAnnotation.Value {
  /// Nil where there are no bytes, or too few, and for a type that is not known.
  fileprivate init?(reading map: IntermediateDumpMap) {
    guard let type = map.unsigned(.annotationType) else { return nil }
    if type == 1 {
      guard let text = map.text(.annotationData) else { return nil }
      self = .text(text)
      return
    }
    guard let word = map.data(.annotationData)?.littleEndian(at: 0, width: 8) else { return nil }
    switch type {
    case 2: self = .signed(Int64(bitPattern: word))
    case 3: self = .unsigned(word)
    case 4: self = .double(word)
    case 5: self = .bool(word != 0)
    default: return nil
    }
  }

  fileprivate func write(to writer: inout IntermediateDumpWriter) {
    func write(_ type: UInt8, _ data: some FieldValue) {
      writer.write(.annotationType, type)
      writer.write(.annotationData, data)
    }
    switch self {
    case .text(let text): write(1, text)
    case .signed(let number): write(2, number)
    case .unsigned(let number): write(3, number)
    case .double(let bits): write(4, bits)
    case .bool(let isTrue): write(5, isTrue ? 1 : 0 as UInt64)
    }
  }
}

extension ClientInformation {
  static let mapFields = MapFields(
    ClientInformation(),
    [
      .group(
        .client,
        [
          .optional(.annotationsOmitted, \.annotationsOmitted),
          .optional(.simpleAnnotationsOmitted, \.simpleAnnotationsOmitted),
          .optional(.breadcrumbsLeft, \.breadcrumbsLeft),
          .optional(.breadcrumbsOmitted, \.breadcrumbsOmitted),
          .optional(.memoryRangesOmitted, \.memoryRangesOmitted),
          .optional(.memoryBytesOmitted, \.memoryBytesOmitted),
          .optional(.attachmentsOmitted, \.attachmentsOmitted),
        ]),
      .array(
        .simpleAnnotations, of: .annotation, \.simpleAnnotations, ClientAnnotation.simpleFields),
      .array(.annotationObjects, of: .annotationObject, \.annotations, ClientAnnotation.mapFields),
      .array(.breadcrumbs, of: .breadcrumb, \.breadcrumbs, Breadcrumb.mapFields),
      // Written in chunks; touching ones are one range again.
      Field(.extraMemory, [.array], nested: ExtraMemoryRange.mapFields.keys) { map, client in
        for range in map.elements(.extraMemory).compactMap(ExtraMemoryRange.mapFields.value(of:))
        where range.size > 0 && range.range.byteCount == range.size {
          if let last = client.extraMemory.last, last.range.end == range.address {
            client.extraMemory[client.extraMemory.count - 1].size = last.size &+ range.size
          } else {
            client.extraMemory.append(range)
          }
        }
        return true
      } write: { client, writer in
        writer.array(
          .extraMemory, of: .memoryRegion, client.extraMemory, ExtraMemoryRange.mapFields)
      },
      .array(.attachments, of: .attachment, \.attachments, Attachment.mapFields),
      .array(
        .userStreamFailures, of: .userStreamFailure, \.userStreamFailures,
        MapFields("", [.required(.userStreamReason, \.self)])),
    ])
}

extension ClientInformation.Breadcrumb {
  static let mapFields = MapFields(
    ClientInformation.Breadcrumb(text: ""),
    [
      .optional(.breadcrumbTime, \.time),
      .optional(.breadcrumbUptime, \.uptime),
      .optional(.breadcrumbThreadID, \.threadID),
      .required(.breadcrumbText, \.text),
    ])
}

extension ClientInformation.ExtraMemoryRange {
  static let mapFields = MapFields(
    ClientInformation.ExtraMemoryRange(address: 0, size: 0),
    [.required(.regionAddress, \.address), .required(.regionSize, \.size)])
}

extension ClientInformation.Attachment {
  static let mapFields = MapFields(
    ClientInformation.Attachment(path: ""),
    [
      .required(.attachmentPath, \.path),
      .optional(.attachmentName, \.name),
      .optional(.attachmentSize, \.size),
      .optional(.attachmentBytesOmitted, \.bytesOmitted),
      .optional(.attachmentFailure, \.failure),
    ])
}

// MARK: - What the converter added

extension StoredSymbols {
  /// The functions at one address.
  struct Entry: Sendable {
    var address: Address
    var functions: [Function]

    static let mapFields = MapFields(
      Entry(address: 0, functions: []),
      [
        .required(.symbolAddress, \.address),
        .array(.functions, of: .function, \.functions, Function.mapFields),
      ])
  }

  /// Sorted by address.
  fileprivate var entries: [Entry] {
    functions.sorted { $0.key < $1.key }.map { Entry(address: $0.key, functions: $0.value) }
  }

  fileprivate init(_ entries: [Entry]) {
    self.init(
      functions: Dictionary(
        entries.map { ($0.address, $0.functions) }, uniquingKeysWith: { first, _ in first }))
  }
}

extension StoredSymbols.Function {
  static let mapFields = MapFields(
    StoredSymbols.Function(linkageName: ""),
    [
      .value(.functionName, \.linkageName),
      .optional(.functionOffset, \.offset),
      .flag(.isInlined, \.isInlined),
      .optional(.sourceFile, \.file),
      .optional(.sourceLine, \.line),
      .optional(.sourceColumn, \.column),
      .flag(.isLineApproximate, \.isLineApproximate),
    ])
}

// MARK: - The whole

extension ProcessSnapshot {
  /// All of a dump that can be read map by map, in the order in which it is written: first what is read
  /// of many dumps at once.
  package static let mapFields = MapFields(
    ProcessSnapshot(architecture: .x86_64), beforeThreads + behindThreads)

  /// What comes before exception, threads and modules.
  static let beforeThreads: [Field<ProcessSnapshot>] = [
    .group(
      .process,
      [.optional(.reportID, \.reportID), .optional(.dumpDigest, \.dumpDigest)]
        + Field.within(\.process, ProcessDescription.mapFields)),
    .map(.survival, \.survival, Survival.mapFields),
    .map(.dumpRequest, \.request, DumpRequest.mapFields),
    .map(.runEnd, \.end, RunEnd.mapFields),
  ]

  /// What comes behind them.
  static let behindThreads: [Field<ProcessSnapshot>] =
    [
      .map(.linkMap, \.linkMap, LinkMap.mapFields),
      .map(.cxxException, \.cxxException, CxxException.mapFields),
      .group(.system, Field.within(\.system, SystemDescription.mapFields)),
      annotations(\.launchAnnotations),
    ] + Field.within(\.client, ClientInformation.mapFields) + [
      .array(.tasks, of: .task, \.tasks, TaskSnapshot.mapFields),
      .group(.capture, Field.within(\.capture, CaptureQuality.mapFields)),
      .group(
        .conversion,
        [
          .optional(.clientID, \.clientID),
          annotations(\.addedAnnotations),
          Field(.symbols, [.array], nested: StoredSymbols.Entry.mapFields.keys) { map, snapshot in
            let entries = map.elements(.symbols).compactMap(StoredSymbols.Entry.mapFields.value(of:))
            guard !entries.isEmpty else { return false }
            snapshot.storedSymbols = StoredSymbols(entries)
            return true
          } write: { snapshot, writer in
            writer.array(
              .symbols, of: .symbol, snapshot.storedSymbols?.entries ?? [],
              StoredSymbols.Entry.mapFields)
          },
        ]),
    ]

  /// Of two of one name the first counts.
  private static func annotations(
    _ path: Field<ProcessSnapshot>.Path<[String: String]>
  ) -> Field<ProcessSnapshot> {
    Field(.annotations, [.array]) { map, snapshot in
      let maps = map.elements(.annotations)
      for map in maps {
        guard let name = map.text(.annotationName), let value = map.text(.annotationValue) else {
          continue
        }
        if snapshot[keyPath: path][name] == nil { snapshot[keyPath: path][name] = value }
      }
      return !maps.isEmpty
    } write: { snapshot, writer in
      let annotations = snapshot[keyPath: path].sorted { $0.key < $1.key }.map {
        ClientAnnotation(name: $0.key, value: .text($0.value))
      }
      writer.array(.annotations, of: .annotation, annotations, ClientAnnotation.simpleFields)
    }
  }
}
