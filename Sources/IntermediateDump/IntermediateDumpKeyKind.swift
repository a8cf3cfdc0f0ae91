/// How the value of a key is stored, for tools that print dumps.
public enum IntermediateDumpKeyKind: Sendable {
  case map
  case array
  case unsigned
  case signed
  /// Unsigned, printed in hexadecimal.
  case address
  /// Nanoseconds since 1970, signed.
  case time
  case text
  case bytes
}

extension IntermediateDumpKey {
  /// How this key's value is stored.
  public var kind: IntermediateDumpKeyKind {
    switch self {
    case .linkMap, .linkEntry, .process, .system, .exception, .thread, .crashingThread,
      .memoryRegion, .mappingsChunk,
      .module, .annotation, .capture, .owner, .survival, .dumpRequest, .task, .cxxException,
      .runEvidence, .runEnd,
      .client, .annotationObject, .breadcrumb, .attachment, .userStreamFailure:
      .map
    case .linkEntries, .threads, .stack, .memory, .mappings, .modules, .annotations, .tasks,
      .annotationObjects, .simpleAnnotations, .breadcrumbs, .extraMemory, .attachments,
      .userStreamFailures:
      .array
    case .descriptorCount, .mappingCount, .mappingLimit, .memoryUsed, .memoryLimit, .tasksUsed,
      .tasksLimit, .schedulingPolicy, .linkVersion, .linkState,
      .processID, .parentProcessID, .userTime, .systemTime, .launchUptime, .crashUptime,
      .processorCount, .pageSize, .exceptionThreadID, .trapNumber, .trapErrorCode, .threadID,
      .threadState, .captureMethod, .stackBytesOmitted, .regionSize, .moduleSize, .threadsFound,
      .threadsStopped, .threadsReadFromKernel, .threadsOmitted, .sectionsAbandoned, .captureTime,
      .bytesOmitted, .threadsUnlisted, .modulesUnlisted, .regionsUnlisted, .isIncomplete,
      .ownerProcessID, .ownerStartTime, .ownerProcessNamespace, .survivalOutcome,
      .ownerTimeNamespace, .ownerIsMapped, .dumpDigest,
      .survivedCrashes, .ownerStopSignal, .ownerWatchdogSignal, .requestKind, .hangTarget,
      .hangThreshold, .hangTime, .hangProcessorTime, .hangThreadEvidence, .taskThreadID,
      .taskLayoutVersion, .watchdogInterval,
      .ownerFollowsExits, .evidenceUptime, .evidenceMachineKills, .evidenceGroupKills,
      .evidenceGroupProcesses, .evidenceResidentMemory, .evidenceMachineMemory,
      .evidenceAvailableMemory, .runEndKind, .runEndCertainty,
      .annotationsOmitted, .simpleAnnotationsOmitted, .breadcrumbsLeft, .breadcrumbsOmitted,
      .memoryRangesOmitted, .memoryBytesOmitted, .attachmentsOmitted, .annotationType,
      .annotationState, .breadcrumbUptime, .breadcrumbThreadID, .attachmentSize,
      .attachmentBytesOmitted:
      .unsigned
    case .niceValue, .signalNumber, .signalCode, .writerError:
      .signed
    case .linkBreakpoint, .linkLoaderBase, .linkDebugAddress, .dynamicSection, .linkAddress,
      .linkDynamic, .faultAddress, .threadPointer, .threadStackPointer, .threadInstructionPointer,
      .stackRegionStart, .stackRegionEnd, .blockedSignals, .regionAddress, .moduleAddress,
      .ownerStackStart, .previousHandler, .ownerCrashSignals, .taskAddress:
      .address
    case .launchTime, .crashTime, .ownerLaunchTime, .evidenceTime, .breadcrumbTime:
      .time
    case .limitsText, .controlGroup, .loadAverage, .processorModel, .processorText, .releaseText,
      .compiler, .systemCall, .linkName, .executablePath, .product, .version, .environment,
      .processStatus, .identifier,
      .kernelName, .kernelRelease, .kernelVersion, .machine, .distribution, .bootID,
      .libraryVersion, .fatalMessage, .abortMessage, .threadName, .mappingsText, .modulePath,
      .annotationName, .annotationValue, .damage, .ownerBootID, .hangName, .cxxTypeName,
      .cxxMessage, .senderName,
      .evidenceLockedFiles, .runEndEvidence,
      .breadcrumbText, .attachmentPath, .attachmentName, .attachmentFailure, .userStreamReason:
      .text
    case .commandLine, .dynamicData, .auxiliaryVector, .reportID, .signalInfo, .generalRegisters,
      .floatingPointState,
      .regionData, .moduleBuildID, .moduleProgramHeaders, .precedingReport, .continuesReport,
      .ownerNotes, .ownerBeat, .evidenceHangReport,
      .annotationData:
      .bytes
    }
  }
}
