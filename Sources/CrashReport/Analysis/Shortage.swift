internal import ProcessSnapshot

/// A resource that was used up, which may be why the program failed.
enum Shortage: Equatable {
  case openFiles(used: UInt64, limit: UInt64)
  case mappings(used: UInt64, limit: UInt64)
  /// Bytes.
  case cgroupMemory(used: UInt64, limit: UInt64)
  case cgroupTasks(used: UInt64, limit: UInt64)
  /// Bytes.
  case addressSpace(used: UInt64, limit: UInt64)
  case threads(used: UInt64, limit: UInt64)
}

extension Resources {
  /// Empty where nothing was used up.
  var shortages: [Shortage] {
    func full(_ usage: Usage, margin: (UInt64) -> UInt64 = { _ in 0 }) -> (UInt64, UInt64)? {
      guard let used = usage.used, let limit = usage.limit, limit > 0,
        used >= limit &- margin(limit)
      else { return nil }
      return (used, limit)
    }
    var shortages: [Shortage] = []
    // The handler gives back two descriptors and takes one to count: where none was left, it counts
    // one less.
    if let (used, limit) = full(openFiles, margin: { _ in 1 }), limit > 1 {
      shortages.append(.openFiles(used: used, limit: limit))
    }
    if let (used, limit) = full(mappings) { shortages.append(.mappings(used: used, limit: limit)) }
    // A cgroup at its limit reclaims memory all the time, so that its use is seldom the limit.
    if let (used, limit) = full(cgroupMemory, margin: { $0 / 20 }) {
      shortages.append(.cgroupMemory(used: used, limit: limit))
    }
    if let (used, limit) = full(cgroupTasks) {
      shortages.append(.cgroupTasks(used: used, limit: limit))
    }
    // The allocation that failed may have been a large one.
    if let (used, limit) = full(addressSpace, margin: { $0 / 8 }) {
      shortages.append(.addressSpace(used: used, limit: limit))
    }
    if let (used, limit) = full(threads) { shortages.append(.threads(used: used, limit: limit)) }
    return shortages
  }
}

extension ProcessSnapshot {
  /// Empty where nothing crashed, or where another process ended this one: then nothing that it ran
  /// out of is evidence.
  var shortages: [Shortage] {
    guard let exception, exception.signal != nil,
      !exception.wasSent || isOwnProcess(exception.sender)
    else { return [] }
    return Resources(self).shortages
  }
}
