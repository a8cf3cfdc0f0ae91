internal import Glibc
internal import IntermediateDump

extension RunRecord {
  /// The record of the calling process; what the kernel does not tell is 0 or empty.
  static func current(
    _ signals: CrashSignals? = nil,
    statistics: ProcessStatistics? = ProcessStatistics.current()
  ) -> RunRecord {
    var status = stat()
    let hasNamespace = unsafe stat("/proc/self/ns/pid", &status) == 0
    let namespace = hasNamespace ? UInt64(status.st_ino) : nil
    let hasTimeNamespace = unsafe stat("/proc/self/ns/time", &status) == 0
    var record = RunRecord(
      processID: UInt32(bitPattern: getpid()),
      startTime: statistics?.startTime ?? 0, stackStart: statistics?.stackStart ?? 0,
      bootID: TextFile.bytes("/proc/sys/kernel/random/boot_id", isOneRecord: true)
        .map(RunRecord.bootID(of:)) ?? "",
      processNamespace: namespace,
      launchTime: LaunchFacts.time(CLOCK_REALTIME),
      signals: signals.map {
        Signals(crash: $0.mask, stop: $0.stopSignal, watchdog: $0.watchdogSignal)
      })
    record.timeNamespace = hasTimeNamespace ? UInt64(status.st_ino) : nil
    return record
  }
}

extension ProcessStatistics {
  /// Those of the calling process; nil without `/proc`.
  static func current() -> ProcessStatistics? {
    TextFile.bytes("/proc/self/stat", isOneRecord: true).flatMap(ProcessStatistics.init(statText:))
  }
}
