internal import IntermediateDump

// Each `overlay` takes the values that a map has and leaves the others alone: a dump may hold two
// maps of a kind, and a minidump's standard streams come before what its extension adds.

extension ProcessDescription {
  /// Takes what a `process` map has.
  mutating func overlay(_ map: IntermediateDumpMap) {
    processID = map.unsigned32(.processID) ?? processID
    parentProcessID = map.unsigned32(.parentProcessID) ?? parentProcessID
    executablePath = map.text(.executablePath) ?? executablePath
    identifier = map.text(.identifier) ?? identifier
    product = map.text(.product) ?? product
    version = map.text(.version) ?? version
    environment = map.text(.environment) ?? environment
    launchTime = map.signed(.launchTime) ?? launchTime
    crashTime = map.signed(.crashTime) ?? crashTime
    launchUptime = map.unsigned(.launchUptime) ?? launchUptime
    crashUptime = map.unsigned(.crashUptime) ?? crashUptime
    userTime = map.unsigned(.userTime) ?? userTime
    systemTime = map.unsigned(.systemTime) ?? systemTime
    statusText = map.array(of: .processStatus) ?? statusText
    auxiliaryVector = map.array(of: .auxiliaryVector) ?? auxiliaryVector
    commandLine = map.array(of: .commandLine) ?? commandLine
    limitsText = map.array(of: .limitsText) ?? limitsText
    descriptorCount = map.unsigned32(.descriptorCount) ?? descriptorCount
    mappingCount = map.unsigned32(.mappingCount) ?? mappingCount
    mappingLimit = map.unsigned(.mappingLimit) ?? mappingLimit
    watchdogInterval = map.unsigned(.watchdogInterval) ?? watchdogInterval
    controlGroup.overlay(map)
  }
}

extension ControlGroupUsage {
  /// Takes what a `process` map has.
  mutating func overlay(_ map: IntermediateDumpMap) {
    path = map.text(.controlGroup) ?? path
    memoryUsed = map.unsigned(.memoryUsed) ?? memoryUsed
    memoryLimit = map.unsigned(.memoryLimit) ?? memoryLimit
    tasksUsed = map.unsigned(.tasksUsed) ?? tasksUsed
    tasksLimit = map.unsigned(.tasksLimit) ?? tasksLimit
  }
}

extension SystemDescription {
  /// Takes what a `system` map has.
  mutating func overlay(_ map: IntermediateDumpMap) {
    kernelName = map.text(.kernelName) ?? kernelName
    kernelRelease = map.text(.kernelRelease) ?? kernelRelease
    kernelVersion = map.text(.kernelVersion) ?? kernelVersion
    machine = map.text(.machine) ?? machine
    distribution = map.text(.distribution) ?? distribution
    libraryVersion = map.text(.libraryVersion) ?? libraryVersion
    processorCount = map.unsigned32(.processorCount) ?? processorCount
    pageSize = map.unsigned(.pageSize) ?? pageSize
    bootID = map.text(.bootID) ?? bootID
    loadAverage = map.text(.loadAverage) ?? loadAverage
    processorModel = map.text(.processorModel) ?? processorModel
    processorText = map.array(of: .processorText) ?? processorText
    releaseText = map.array(of: .releaseText) ?? releaseText
    compiler = map.text(.compiler) ?? compiler
  }
}

extension CaptureQuality {
  /// Takes what a `capture` map has.
  mutating func overlay(_ map: IntermediateDumpMap) {
    threadsFound = map.unsigned(.threadsFound) ?? threadsFound
    threadsStopped = map.unsigned(.threadsStopped) ?? threadsStopped
    threadsReadFromKernel = map.unsigned(.threadsReadFromKernel) ?? threadsReadFromKernel
    threadsOmitted = map.unsigned(.threadsOmitted) ?? threadsOmitted
    sectionsAbandoned = map.unsigned(.sectionsAbandoned) ?? sectionsAbandoned
    captureTime = map.unsigned(.captureTime) ?? captureTime
    bytesOmitted = map.unsigned(.bytesOmitted) ?? bytesOmitted
    threadsUnlisted = map.unsigned(.threadsUnlisted) ?? threadsUnlisted
    modulesUnlisted = map.unsigned(.modulesUnlisted) ?? modulesUnlisted
    regionsUnlisted = map.unsigned(.regionsUnlisted) ?? regionsUnlisted
    if let error = map.signed(.writerError), error != 0 {
      isComplete = false
      damage = "the handler could not write everything (errno \(error))"
    }
    if let flag = map.unsigned(.isIncomplete) { isComplete = flag == 0 }
    damage = map.text(.damage) ?? damage
  }
}
