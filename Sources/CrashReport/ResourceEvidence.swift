internal import ProcessSnapshot

extension CrashReport.Resources {
  init(_ snapshot: ProcessSnapshot) {
    let process = snapshot.process
    let limits = process.limits
    openFiles = Usage(
      used: process.descriptorCount.map { UInt64($0) }, limit: limits?.openFiles?.soft)
    mappings = Usage(
      used: process.mappingCount.map { UInt64($0) }, limit: process.mappingLimit)
    threads = snapshot.capture.threadsFound
    let group = process.controlGroup
    controlGroup = group.path
    controlGroupMemory = Usage(used: group.memoryUsed, limit: group.memoryLimit)
    controlGroupTasks = Usage(used: group.tasksUsed, limit: group.tasksLimit)
    stackLimit = limits?.stackSize?.soft
    addressSpaceLimit = limits?.addressSpace?.soft
    let numbers = snapshot.system.loadAverage?.split(separator: " ").prefix(3)
      .compactMap { Double($0) }.filter(\.isFinite)
    loadAverage = numbers?.count == 3 ? numbers : nil
    addressSpaceUsed = process.addressSpaceSize
    taskLimit = limits?.tasks?.soft
  }

  /// Sentences on what was used up, which may be why the program failed; empty where nothing was.
  var evidence: [String] {
    var sentences: [String] = []
    // The handler gives back two descriptors and takes one to count: where none was left, it counts
    // one less.
    if let used = openFiles.used, let limit = openFiles.limit, limit > 1, used >= limit &- 1 {
      sentences.append(
        "\(used) file descriptors are open, and the process may have \(limit) (RLIMIT_NOFILE).")
    }
    if let (used, limit) = Self.full(mappings) {
      sentences.append(
        "The process has \(used) memory mappings, as many as it may have"
          + " (\(limit), vm.max_map_count).")
    }
    // A group at its limit reclaims memory all the time, so that its use is seldom the limit
    // itself.
    if let used = controlGroupMemory.used, let limit = controlGroupMemory.limit, limit > 0,
      used >= limit &- limit / 20
    {
      sentences.append(
        "The control group uses \(TextReport.size(used)) of the \(TextReport.size(limit)) of memory"
          + " that it may use.")
    }
    if let (used, limit) = Self.full(controlGroupTasks) {
      sentences.append(
        "The control group has \(used) threads and processes, as many as it may have (\(limit)).")
    }
    return sentences + processEvidence
  }

  /// What the process itself used up, and not its group.
  private var processEvidence: [String] {
    var sentences: [String] = []
    // The last allocation that failed may have been a large one: within an eighth.
    if let used = addressSpaceUsed, let limit = addressSpaceLimit, limit > 0,
      used >= limit &- limit / 8
    {
      sentences.append(
        "The process uses \(TextReport.size(used)) of the \(TextReport.size(limit)) of address"
          + " space that it may use (RLIMIT_AS): an allocation may have failed.")
    }
    if let threads, let limit = taskLimit, limit > 0, threads >= limit {
      sentences.append(
        "The process has \(threads) threads, and its user may have \(limit) threads and processes"
          + " (RLIMIT_NPROC).")
    }
    return sentences
  }

  private static func full(_ usage: Usage) -> (used: UInt64, limit: UInt64)? {
    guard let used = usage.used, let limit = usage.limit, limit > 0, used >= limit else {
      return nil
    }
    return (used, limit)
  }
}
