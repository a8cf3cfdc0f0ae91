package import ProcessSnapshot

/// The resources that the process used, and their limits.
package struct Resources: Sendable, Equatable {
  /// How much of a resource is used, and the limit.
  ///
  /// `used` is nil if the usage is not known, and `limit` is nil if the limit is not known or there is no limit.
  package struct Usage: Sendable, Equatable {
    package var used: UInt64?
    package var limit: UInt64?
  }

  /// The number of open file descriptors; the limit is the soft limit of RLIMIT_NOFILE.
  package var openFiles: Usage
  /// The number of memory mappings; the limit is `vm.max_map_count`.
  package var mappings: Usage
  /// The number of bytes of address space; the limit is the soft limit of RLIMIT_AS.
  package var addressSpace: Usage
  /// The number of threads of the process.
  ///
  /// The limit is the soft limit of RLIMIT_NPROC. It applies to the threads of all processes of the user together, so
  /// it can be reached although this process has fewer threads.
  package var threads: Usage
  /// The number of bytes of memory that the cgroup uses, and the cgroup's limit.
  package var cgroupMemory: Usage
  /// The number of threads in the cgroup, and the cgroup's limit.
  package var cgroupTasks: Usage
  /// The soft limit of RLIMIT_STACK in bytes; nil if the limit is not known or there is no limit.
  package var stackLimit: UInt64?
  /// The average load of the machine over 1, 5 and 15 minutes.
  package var loadAverage: [Double]?

  package init(_ snapshot: ProcessSnapshot) {
    let process = snapshot.process
    let limits = process.limits
    let group = process.cgroup
    openFiles = Usage(
      used: process.descriptorCount.map { UInt64($0) }, limit: limits?.openFiles?.soft)
    mappings = Usage(used: process.mappingCount.map { UInt64($0) }, limit: process.mappingLimit)
    addressSpace = Usage(used: process.addressSpaceSize, limit: limits?.addressSpace?.soft)
    threads = Usage(used: snapshot.capture.threadsFound, limit: limits?.tasks?.soft)
    cgroupMemory = Usage(used: group.memoryUsed, limit: group.memoryLimit)
    cgroupTasks = Usage(used: group.tasksUsed, limit: group.tasksLimit)
    stackLimit = limits?.stackSize?.soft
    let numbers = snapshot.system.loadAverage?.split(separator: " ").prefix(3)
      .compactMap { Double($0) }.filter(\.isFinite)
    loadAverage = numbers?.count == 3 ? numbers : nil
  }
}
