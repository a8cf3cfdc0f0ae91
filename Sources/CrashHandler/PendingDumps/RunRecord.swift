internal import Glibc
internal import IntermediateDump

/// Who owns a locked file: what the next start compares with the processes that live then.
struct RunRecord {
  let processID: Int32
  /// Clock ticks between boot and the process's start, field 22 of proc_pid_stat(5).
  let startTime: UInt64
  /// Where the initial stack began, field 28; changes at exec.
  ///
  /// 0 if the kernel does not tell.
  let stackStart: UInt64
  let bootID: String
  /// The inode of the PID namespace; process IDs of different namespaces cannot be compared.
  let processNamespace: UInt64
  /// Nanoseconds since 1970.
  let launchTime: Int64
  /// What `postmortem doctor` compares the process's signals with.
  let signals: CrashSignals

  /// The record of the calling process.
  static func current(_ signals: CrashSignals) -> RunRecord {
    let fields = TextFile.text("/proc/self/stat").map(statFields) ?? []
    var status = stat()
    let hasNamespace = unsafe stat("/proc/self/ns/pid", &status) == 0
    return RunRecord(
      processID: getpid(),
      startTime: fields.count > 21 ? UInt64(fields[21]) ?? 0 : 0,
      stackStart: currentStackStart(),
      bootID: TextFile.text("/proc/sys/kernel/random/boot_id")?.trimmingLineEnd() ?? "",
      processNamespace: hasNamespace ? UInt64(status.st_ino) : 0,
      launchTime: LaunchFacts.time(CLOCK_REALTIME),
      signals: signals)
  }

  /// Where the calling process's initial stack began; 0 if the kernel does not tell.
  static func currentStackStart() -> UInt64 {
    let fields = TextFile.text("/proc/self/stat").map(statFields) ?? []
    return fields.count > 27 ? UInt64(fields[27]) ?? 0 : 0
  }

  /// Fields of the stat file; the second is a name in parentheses that may hold blanks and
  /// parentheses itself.
  private static func statFields(_ text: String) -> [Substring] {
    guard let end = text.lastIndex(of: ")") else { return [] }
    let rest = text[text.index(after: end)...].split(separator: " ")
    return ["", ""] + rest
  }

  /// The record as it is stored: an intermediate dump of one map.
  func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.owner)
      writer.unsigned(.ownerProcessID, UInt64(UInt32(bitPattern: processID)), width: 4)
      writer.unsigned(.ownerStartTime, startTime)
      writer.unsigned(.ownerStackStart, stackStart)
      writer.text(.ownerBootID, bootID)
      writer.unsigned(.ownerProcessNamespace, processNamespace)
      writer.signed(.ownerLaunchTime, launchTime)
      writer.unsigned(.ownerCrashSignals, signals.mask)
      writer.unsigned(.ownerStopSignal, UInt64(signals.stopSignal), width: 4)
      writer.unsigned(.ownerWatchdogSignal, UInt64(signals.watchdogSignal), width: 4)
      writer.end()
      _ = writer.endDocument()
    }
  }
}
