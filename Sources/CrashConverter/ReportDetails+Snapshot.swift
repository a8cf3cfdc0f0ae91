internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import ProcessSnapshot

extension ReportDetails {
  /// Reads the details of a snapshot.
  ///
  /// - Parameter facts: nil to leave out everything that needs a stack walk.
  init(of snapshot: ProcessSnapshot, _ facts: CrashFacts?) {
    self.init()
    let process = snapshot.process
    let system = snapshot.system
    kind =
      switch (snapshot.end, snapshot.request) {
      case (.some, _): .end
      case (nil, let request?): request.kind == .hang ? .hang : .dump
      case (nil, nil): .crash
      }
    if snapshot.request == nil, let signal = snapshot.exception?.signal,
      let code = snapshot.exception?.code
    {
      self[.code] = UInt64(bitPattern: Int64(code))
      self[.codeName] = SignalNames.codeName(signal: signal, code: code)
    }
    self[.endSignal] = snapshot.end?.signal.map(SignalNames.text)
    self[.errorType] = snapshot.request?.errorType
    self[.host] = system.hostName
    self[.containerID] = snapshot.containerID
    self[.environment] = process.environment
    self[.executable] = process.executablePath
    let main = snapshot.mainModuleAddress(in: snapshot.modules)
    let buildID = snapshot.modules.first { $0.address == main }?.buildID ?? []
    self[.buildID] = buildID.isEmpty ? nil : buildID.hexadecimal
    self[.architecture] = snapshot.architecture.rawValue
    self[.distribution] = system.distribution
    self[.kernel] = system.kernelRelease
    self[.clientID] = snapshot.clientID?.description
    self[.processID] = process.processID.map { UInt64($0) }
    self[.uptime] = process.uptime
    self[.age] = process.age
    self[.hangTime] = snapshot.request?.hangTime
    self[.residentMemory] = process.residentMemory
    self[.peakMemory] = process.peakResidentMemory
    self[.groupMemory] = process.cgroup.memoryUsed
    self[.groupMemoryLimit] = process.cgroup.memoryLimit
    self[.threads] = snapshot.capture.threadsFound
    self[.openFiles] = process.descriptorCount.map { UInt64($0) }
    isComplete = snapshot.capture.isComplete
    ownFrames = facts?.ownFrames ?? []
    stack = facts?.stack ?? []
    tags = snapshot.annotations.sorted { $0.key < $1.key }.map {
      Tag(name: $0.key, value: $0.value)
    }
  }
}
