internal import ProcessSnapshot

/// A resource that was at or near its limit when the process crashed, and that may be the reason for the crash.
package enum Shortage: Equatable {
  case openFiles(used: UInt64, limit: UInt64)
  case mappings(used: UInt64, limit: UInt64)
  /// The memory of the cgroup and its limit, in bytes.
  case cgroupMemory(used: UInt64, limit: UInt64)
  case cgroupTasks(used: UInt64, limit: UInt64)
  /// The size of the address space and its limit, in bytes.
  case addressSpace(used: UInt64, limit: UInt64)
  case threads(used: UInt64, limit: UInt64)
}

extension Resources {
  /// The resources that were at or near their limits; empty if none were.
  var shortages: [Shortage] {
    func full(
      _ usage: Usage, margin: (UInt64) -> UInt64 = { _ in 0 },
      _ shortage: (UInt64, UInt64) -> Shortage
    ) -> Shortage? {
      guard let used = usage.used, let limit = usage.limit, margin(limit) < limit,
        used >= limit &- margin(limit)
      else { return nil }
      return shortage(used, limit)
    }
    return [
      // Before the handler counts the open descriptors, it closes its three placeholders and opens two files of
      // /proc. So if no descriptor was left, the count is one less than the limit.
      full(openFiles, margin: { _ in 1 }, Shortage.openFiles),
      full(mappings, Shortage.mappings),
      // The kernel continuously reclaims memory of a cgroup at its limit, so the usage is rarely equal to the limit.
      full(cgroupMemory, margin: { $0 / 20 }, Shortage.cgroupMemory),
      full(cgroupTasks, Shortage.cgroupTasks),
      // The margin is large, because the allocation that failed may have been large.
      full(addressSpace, margin: { $0 / 8 }, Shortage.addressSpace),
      full(threads, Shortage.threads),
    ].compactMap { $0 }
  }
}

extension ProcessSnapshot {
  /// The resources that were at or near their limits.
  ///
  /// The list is empty if nothing crashed, or if the signal was sent and its sender is not known to be the crashed
  /// process. In these cases, a resource at its limit is no evidence for a cause.
  package var shortages: [Shortage] {
    guard let exception, exception.signal != nil,
      !exception.wasSent || isOwnProcess(exception.sender)
    else { return [] }
    return Resources(self).shortages
  }
}
