/// The schema of an intermediate dump: every key there is, nested as it is nested in the file.
///
/// Never renumber a key and never use a number again. A new key goes at the end of its group;
/// readers skip what they do not know. The kind of each value is in `IntermediateDumpKey.kind`, its
/// meaning in `Docs/IntermediateDumpFormat.md`.
public enum IntermediateDumpKey: UInt16, CaseIterable, Sendable {
  // Where the dump came from.
  case process = 100  // map
  case processID = 101
  case parentProcessID = 102
  case executablePath = 103
  case product = 104
  case version = 105
  case environment = 106
  case launchTime = 107
  case crashTime = 108
  case userTime = 109
  case systemTime = 110
  case processStatus = 111
  case auxiliaryVector = 112
  case identifier = 113
  case reportID = 114
  case launchUptime = 115
  case crashUptime = 116
  case commandLine = 117
  case limitsText = 118
  case descriptorCount = 119
  case mappingCount = 120
  case mappingLimit = 121
  case memoryUsed = 122
  case memoryLimit = 123
  case tasksUsed = 124
  case tasksLimit = 125
  case controlGroup = 126
  case dumpDigest = 127

  case system = 200  // map
  case kernelName = 201
  case kernelRelease = 202
  case kernelVersion = 203
  case machine = 204
  case distribution = 205
  case processorCount = 206
  case pageSize = 207
  case bootID = 208
  case libraryVersion = 209
  case loadAverage = 210
  case processorModel = 211
  case processorText = 212
  case releaseText = 213
  case compiler = 214

  // Why it ended.
  case exception = 300  // map
  case exceptionThreadID = 301
  case signalNumber = 302
  case signalCode = 303
  case faultAddress = 304
  case signalInfo = 305
  case fatalMessage = 306
  case abortMessage = 307
  case trapNumber = 308
  case trapErrorCode = 309

  // Who was doing what.
  case threads = 400  // array
  case thread = 401  // map
  case threadID = 402
  case threadName = 403
  case threadState = 404
  case captureMethod = 405
  case generalRegisters = 406
  case floatingPointState = 407
  case threadPointer = 408
  case threadStackPointer = 409
  case threadInstructionPointer = 410
  case stack = 411  // array of memoryRegion
  case stackRegionStart = 412
  case stackRegionEnd = 413
  case stackBytesOmitted = 414
  case blockedSignals = 415
  case crashingThread = 416  // map, the same contents as thread; in two parts
  case schedulingPolicy = 417
  case niceValue = 418
  case systemCall = 419

  // What memory held.
  case memory = 500  // array
  case memoryRegion = 501  // map
  case regionAddress = 502
  case regionData = 503
  case regionSize = 504

  case mappings = 600  // array
  case mappingsChunk = 601  // map
  case mappingsText = 602

  case modules = 700  // array
  case module = 701  // map
  case moduleAddress = 702
  case modulePath = 703
  case moduleBuildID = 704
  case moduleProgramHeaders = 705
  case moduleSize = 706

  // What the program said.
  case annotations = 800  // array
  case annotation = 801  // map
  case annotationName = 802
  case annotationValue = 803

  // How well it was captured.
  case capture = 900  // map
  case threadsFound = 901
  case threadsStopped = 902
  case threadsReadFromKernel = 903
  case threadsOmitted = 904
  case sectionsAbandoned = 905
  case captureTime = 906
  case bytesOmitted = 907
  case writerError = 908
  case isIncomplete = 909
  case damage = 910
  case threadsUnlisted = 911
  case modulesUnlisted = 912
  case regionsUnlisted = 913

  // What the dynamic linker has loaded.
  case linkMap = 1100  // map
  case linkVersion = 1101
  case linkState = 1102
  case linkBreakpoint = 1103
  case linkLoaderBase = 1104
  case linkDebugAddress = 1105
  case dynamicSection = 1106
  case dynamicData = 1107
  case linkEntries = 1108  // array
  case linkEntry = 1109  // map
  case linkAddress = 1110
  case linkDynamic = 1111
  case linkName = 1112

  // Whose run it is: the run record beside a locked file, never in a dump.
  case owner = 1000  // map
  case ownerProcessID = 1001
  case ownerStartTime = 1002
  case ownerStackStart = 1003
  case ownerBootID = 1004
  case ownerProcessNamespace = 1005
  case ownerLaunchTime = 1006

  // What became of the process after the dump, and which crashes it had survived before.
  case survival = 1200  // map
  case survivalOutcome = 1201
  case previousHandler = 1202
  case survivedCrashes = 1203
  case precedingReport = 1204
  // In a run record, inside the owner.
  case continuesReport = 1205
  case ownerCrashSignals = 1206
  case ownerStopSignal = 1207
  case ownerWatchdogSignal = 1208
  case ownerTimeNamespace = 1209
  case ownerIsMapped = 1210

  // Why the dump was taken, where nothing crashed.
  case dumpRequest = 1300  // map
  case requestKind = 1301
  case hangTarget = 1302
  case hangName = 1303
  case hangThreshold = 1304
  case hangTime = 1305
  case hangProcessorTime = 1306
  case hangThreadEvidence = 1307

  // What the program told while it ran, and what became of it.
  case client = 1400  // map
  case annotationsOmitted = 1401
  case simpleAnnotationsOmitted = 1402
  case breadcrumbsLeft = 1403
  case breadcrumbsOmitted = 1404
  case memoryRangesOmitted = 1405
  case memoryBytesOmitted = 1406
  case attachmentsOmitted = 1407
  case annotationObjects = 1410  // array
  case annotationObject = 1411  // map
  case annotationType = 1412
  case annotationData = 1413
  case annotationState = 1414
  case simpleAnnotations = 1415  // array of annotation
  case breadcrumbs = 1420  // array
  case breadcrumb = 1421  // map
  case breadcrumbTime = 1422
  case breadcrumbUptime = 1423
  case breadcrumbThreadID = 1424
  case breadcrumbText = 1425
  case extraMemory = 1430  // array of memoryRegion
  case attachments = 1440  // array
  case attachment = 1441  // map
  case attachmentPath = 1442
  case attachmentName = 1443
  case attachmentSize = 1444
  case attachmentBytesOmitted = 1445
  case attachmentFailure = 1446
  case userStreamFailures = 1447  // array
  case userStreamFailure = 1448  // map
  case userStreamReason = 1449
  // The tasks of Swift concurrency that threads ran.
  case tasks = 1500  // array
  case task = 1501  // map
  case taskThreadID = 1502
  case taskAddress = 1503
  case taskLayoutVersion = 1504
  // The C++ exception that was caught last when the process aborted.
  case cxxException = 1510  // map
  case cxxTypeName = 1511
  case cxxMessage = 1512
  // Who sent the signal; inside the exception.
  case senderName = 1520
  // Inside the process.
  case watchdogInterval = 1521

  // How a run goes and ended: in a run record inside the owner, but for runEnd, which is in reports
  // of runs that left no dump.
  case ownerNotes = 1450
  case ownerBeat = 1451
  case ownerFollowsExits = 1452
  case runEvidence = 1453  // map
  case evidenceTime = 1454
  case evidenceUptime = 1455
  case evidenceMachineKills = 1456
  case evidenceGroupKills = 1457
  case evidenceGroupProcesses = 1458
  case evidenceResidentMemory = 1459
  case evidenceMachineMemory = 1460
  case evidenceAvailableMemory = 1461
  case evidenceLockedFiles = 1462
  case evidenceHangReport = 1463
  case runEnd = 1464  // map
  case runEndKind = 1465
  case runEndCertainty = 1466
  case runEndEvidence = 1467

  /// The number on disk.
  ///
  /// `rawValue` itself is synthesised without the crash-time annotation, and a debug build sees no
  /// body of it from another file; from this file it does.
  public var code: UInt16 { @_noLocks get { rawValue } }
}
