/// The keys of the dump format, with their numbers.
///
/// The keys are used in dumps, in run records, and in the stream that this package adds to a minidump.
///
/// Never renumber a key, and never reuse a number that a released version of this file has used. A new key takes the next
/// free number of its group, or any free number if the group is full. It also needs a row in
/// `DumpInspection/IntermediateDumpKey+Definitions.swift`, which defines where the key occurs. Readers skip keys that
/// they do not know. `FormatDocumentTests` writes the table of `Docs/Internals/IntermediateDumpFormat.md` from these
/// rows.
public enum IntermediateDumpKey: UInt16, CaseIterable, Sendable {
  case process = 100
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
  case cgroup = 126
  case dumpDigest = 127
  case privacy = 128
  case processStart = 129
  case oomScoreAdjustment = 130
  case mappingLimitText = 131
  case oomScoreText = 132
  case resourceUsage = 133

  case system = 200
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
  case swiftVersion = 215
  case processorList = 216

  case exception = 300
  case exceptionThreadID = 301
  case signalNumber = 302
  case signalCode = 303
  case faultAddress = 304
  case signalInfo = 305
  case fatalMessage = 306
  case abortMessage = 307
  case trapNumber = 308
  case trapErrorCode = 309
  case faultPage = 310

  case threads = 400
  case thread = 401
  case threadID = 402
  case threadName = 403
  case threadState = 404
  case captureMethod = 405
  case generalRegisters = 406
  case floatingPointState = 407
  case threadPointer = 408
  case threadStackPointer = 409
  case threadInstructionPointer = 410
  case stack = 411
  case stackRegionStart = 412
  case stackRegionEnd = 413
  case stackBytesOmitted = 414
  case blockedSignals = 415
  case crashingThread = 416
  case schedulingPolicy = 417
  case niceValue = 418
  case systemCall = 419
  case threadFrames = 421
  case threadProcessorTime = 422
  case stackWords = 423

  case memory = 500
  case memoryRegion = 501
  case regionAddress = 502
  case regionData = 503
  case regionSize = 504

  case mappings = 600
  case mappingsChunk = 601
  case mappingsText = 602

  case modules = 700
  case module = 701
  case moduleAddress = 702
  case modulePath = 703
  case moduleBuildID = 704
  case moduleProgramHeaders = 705
  case moduleSize = 706
  case moduleSource = 707

  case annotations = 800
  case annotation = 801
  case annotationName = 802
  case annotationValue = 803

  case capture = 900
  case threadsFound = 901
  case threadsStopped = 902
  case threadsReadFromKernel = 903
  case threadsOmitted = 904
  case sectionsAbandoned = 905
  case captureTime = 906
  case bytesOmitted = 907
  case isIncomplete = 909
  case damage = 910
  case threadsUnlisted = 911
  case modulesUnlisted = 912
  case regionsUnlisted = 913
  case isCoreFile = 914
  case modulesOmitted = 915
  case notShown = 920

  case owner = 1000
  case ownerProcessID = 1001
  case ownerStartTime = 1002
  case ownerStackStart = 1003
  case ownerBootID = 1004
  case ownerProcessNamespace = 1005
  case ownerLaunchTime = 1006

  case linkMap = 1100
  case linkVersion = 1101
  case linkState = 1102
  case linkBreakpoint = 1103
  case linkLoaderBase = 1104
  case linkDebugAddress = 1105
  case dynamicSection = 1106
  case dynamicData = 1107
  case linkEntries = 1108
  case linkEntry = 1109
  case linkAddress = 1110
  case linkDynamic = 1111
  case linkName = 1112

  case survival = 1200
  case survivalOutcome = 1201
  case previousHandler = 1202
  case survivedCrashes = 1203
  case precedingReport = 1204
  case continuesReport = 1205
  case ownerCrashSignals = 1206
  case ownerStopSignal = 1207
  case ownerWatchdogSignal = 1208
  case ownerTimeNamespace = 1209
  case ownerIsMapped = 1210
  case ownerTakesRequests = 1211
  case ownerToldStacks = 1212
  case previousHandlerIsBacktracer = 1213

  case dumpRequest = 1300
  case requestKind = 1301
  case hangTarget = 1302
  case hangName = 1303
  case hangThreshold = 1304
  case hangTime = 1305
  case hangProcessorTime = 1306
  case hangThreadEvidence = 1307
  case requestReason = 1308
  case requestErrorType = 1309
  case requestErrorText = 1310

  case client = 1400
  case annotationsOmitted = 1401
  case simpleAnnotationsOmitted = 1402
  case breadcrumbsLeft = 1403
  case breadcrumbsOmitted = 1404
  case memoryRangesOmitted = 1405
  case memoryBytesOmitted = 1406
  case attachmentsOmitted = 1407
  case contextsOmitted = 1408
  case annotationObjects = 1410
  case annotationObject = 1411
  case annotationType = 1412
  case annotationData = 1413
  case annotationState = 1414
  case simpleAnnotations = 1415
  case breadcrumbs = 1420
  case breadcrumb = 1421
  case breadcrumbTime = 1422
  case breadcrumbUptime = 1423
  case breadcrumbThreadID = 1424
  case breadcrumbText = 1425
  case breadcrumbLevel = 1426
  case breadcrumbMetadata = 1427
  case extraMemory = 1430
  case attachments = 1440
  case attachment = 1441
  case attachmentPath = 1442
  case attachmentName = 1443
  case attachmentSize = 1444
  case attachmentBytesOmitted = 1445
  case attachmentFailure = 1446
  case userStreamFailures = 1447
  case userStreamFailure = 1448
  case userStreamReason = 1449
  case ownerNotes = 1450
  case ownerHeartbeat = 1451
  case ownerFollowsExits = 1452
  case runEvidence = 1453
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
  case runEnd = 1464
  case runEndKind = 1465
  case runEndCertainty = 1466
  case runEndEvidence = 1467
  case contexts = 1470
  case context = 1471
  case contextThreadID = 1472
  case contextName = 1473
  case contextValue = 1474
  case contextIsCut = 1475
  case workBreadcrumbs = 1476
  case openContexts = 1477
  case throwRecords = 1480
  case throwRecord = 1481
  case throwThreadID = 1482
  case throwUptime = 1483
  case throwError = 1484
  case throwAddresses = 1485

  case tasks = 1500
  case task = 1501
  case taskThreadID = 1502
  case taskAddress = 1503
  case taskLayoutVersion = 1504
  case cxxException = 1510
  case cxxTypeName = 1511
  case cxxMessage = 1512
  case senderName = 1520
  case watchdogInterval = 1521
  case hostName = 1522
  case containerMount = 1523
  case timeZone = 1524
  case workingDirectory = 1525
  case descriptors = 1526
  case descriptor = 1527
  case descriptorNumber = 1528
  case descriptorKind = 1529
  case descriptorPath = 1530
  case descriptorPathIsCut = 1531
  case descriptorIsDeleted = 1532
  case allTasks = 1540
  case fileLocks = 1541
  case fileLock = 1542
  case fileLockThreadID = 1543
  case fileLockHolder = 1544
  case fileLockHolderName = 1545

  case conversion = 1600
  case clientID = 1601
  case symbols = 1610
  case symbol = 1611
  case symbolAddress = 1612
  case functions = 1613
  case function = 1614
  case functionName = 1615
  case functionOffset = 1616
  case isInlined = 1617
  case sourceFile = 1618
  case sourceLine = 1619
  case sourceColumn = 1620
  case isLineApproximate = 1621
  case verdict = 1630
  case verdictCause = 1631
  case verdictCertainty = 1632
  case verdictMessage = 1633
  case verdictSignature = 1634
  case verdictPlace = 1635

  /// The number that stands for the key in files.
  ///
  /// Crash code uses this property instead of `rawValue`, because the synthesized `rawValue` is not marked `@_noLocks`.
  /// In a debug build, the body of `rawValue` is visible only in this file, so this property must be here.
  public var code: UInt16 { @_noLocks get { rawValue } }
}
