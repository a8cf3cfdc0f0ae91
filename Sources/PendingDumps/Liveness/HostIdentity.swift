internal import Glibc

/// The boot and the namespaces in which this process runs, and its process ID and start time there.
package struct HostIdentity: Sendable, Equatable {
  /// The contents of `/proc/sys/kernel/random/boot_id`.
  package var bootID: String?
  /// The inode of `/proc/self/ns/pid`, which identifies the PID namespace.
  package var processNamespace: UInt64?
  /// The inode of `/proc/self/ns/time`; nil on kernels before 5.6, or if `/proc` does not show it.
  ///
  /// The time namespace shifts the start times that this process reads, so processes in different time namespaces see
  /// different start times.
  package var timeNamespace: UInt64?
  /// True if `/proc` shows the processes of this process's PID namespace.
  ///
  /// For example, the value is false if this process has entered a PID namespace without mounting that namespace's
  /// `/proc`.
  package var isProcOurs: Bool
  package var processID: UInt32
  /// The start time of this process; nil if `/proc` does not show it.
  package var startTime: UInt64?

  package init(
    bootID: String?, processNamespace: UInt64?, isProcOurs: Bool, processID: UInt32,
    startTime: UInt64?, timeNamespace: UInt64? = nil
  ) {
    self.bootID = bootID
    self.processNamespace = processNamespace
    self.isProcOurs = isProcOurs
    self.processID = processID
    self.startTime = startTime
    self.timeNamespace = timeNamespace
  }

  /// Reads the identity from the system each time, because a fork changes the identity.
  ///
  /// - Parameters:
  ///   - statistics: the statistics of the calling process.
  ///   - processID: the process's ID in its own PID namespace; nil to read it from the kernel.
  package static func current(
    _ statistics: ProcessStatistics? = ProcessStatistics.current(), processID: UInt32? = nil
  ) -> HostIdentity {
    let processID = processID ?? UInt32(bitPattern: getpid())
    let isProcOurs = statistics?.own.processID == processID
    return HostIdentity(
      bootID: currentBootID(), processNamespace: SystemFile.namespace("pid"),
      isProcOurs: isProcOurs, processID: processID,
      startTime: isProcOurs ? statistics?.startTime : nil,
      timeNamespace: SystemFile.namespace("time"))
  }

  /// Returns the ID of this boot; nil if `/proc` does not show the ID.
  package static func currentBootID() -> String? {
    let text = SystemFile.bytes("/proc/sys/kernel/random/boot_id", isOneRecord: true)
      .map(bootID(of:))
    return text?.isEmpty == false ? text : nil
  }

  /// Returns the text of `/proc/sys/kernel/random/boot_id` without the line feed.
  static func bootID(of text: [UInt8]) -> String {
    String(decoding: text.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
  }

  /// The inode of the initial time namespace, in which the clocks are not shifted.
  ///
  /// Source: Linux include/uapi/linux/nsfs.h, TIME_NS_INIT_INO.
  package static let firstTimeNamespace: UInt64 = 0xEFFF_FFFA

  /// The `place` in the name of a claim: a digest of the boot and the namespaces in which the process ID and the start
  /// time are valid.
  ///
  /// The place is 0 if the boot, the PID namespace or the start time of this process is not known, or if `/proc` cannot
  /// be read or belongs to another PID namespace (`isProcOurs` is false).
  ///
  /// The digest is a 32-bit FNV-1a hash, so two places have the same digest with a probability of 1 in 4 billion. If
  /// they do, a live converter in the other place can look dead, but the database still keeps only one report of the
  /// dump.
  package var place: UInt32 {
    guard let bootID, let processNamespace, isProcOurs, startTime != nil else { return 0 }
    return Self.digest("\(bootID)/\(processNamespace)/\(timeNamespace ?? 0)")
  }

  /// A digest of the boot ID alone, without the namespaces that `place` includes; 0 if the boot is not known.
  package var boot: UInt32 { bootID.map(Self.digest) ?? 0 }

  /// Returns the digest of a boot ID or a place; never 0.
  package static func digest(_ text: String) -> UInt32 {
    max(text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, 1)
  }
}
