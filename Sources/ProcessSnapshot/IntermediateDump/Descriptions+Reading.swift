internal import IntermediateDump

// Each `overlay` takes the values that a map has and leaves the others alone: a dump may hold two maps of a kind, and a
// minidump's standard streams come before what its extension adds.

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
    userTime = map.unsigned(.userTime) ?? userTime
    systemTime = map.unsigned(.systemTime) ?? systemTime
    statusText = map.array(of: .processStatus) ?? statusText
    auxiliaryVector = map.array(of: .auxiliaryVector) ?? auxiliaryVector
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
    if let error = map.signed(.writerError), error != 0 {
      isComplete = false
      damage = "the handler could not write everything (errno \(error))"
    }
    if let flag = map.unsigned(.isIncomplete) { isComplete = flag == 0 }
    damage = map.text(.damage) ?? damage
  }
}
