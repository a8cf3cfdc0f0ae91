internal import Glibc
internal import IntermediateDump

/// Which boot and PID namespace this process is in, and which process it is there.
struct HostIdentity: Sendable, Equatable {
  /// `/proc/sys/kernel/random/boot_id`.
  var bootID: String?
  /// The inode of `/proc/self/ns/pid`.
  var processNamespace: UInt64?
  /// True if `/proc` shows the processes of this PID namespace: a namespace can be entered without
  /// mounting its own.
  var isProcOurs: Bool
  var processID: UInt32
  /// Nil where `/proc` does not tell.
  var startTime: UInt64?

  /// Asks the system; not kept, because a fork changes the answer.
  static func current() -> HostIdentity {
    let processID = getpid()
    var buffer = [CChar](repeating: 0, count: 32)
    let length = unsafe readlink("/proc/self", &buffer, buffer.count)
    let shown = String(
      decoding: buffer.prefix(max(0, length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    var status = stat()
    let hasNamespace = unsafe stat("/proc/self/ns/pid", &status) == 0
    let isProcOurs = shown == "\(processID)"
    let ownText = isProcOurs ? ProcFile.contents("/proc/self/stat") : nil
    return HostIdentity(
      bootID: ProcFile.contents("/proc/sys/kernel/random/boot_id").map(RunRecord.bootID(of:)),
      processNamespace: hasNamespace ? UInt64(status.st_ino) : nil,
      isProcOurs: isProcOurs, processID: UInt32(bitPattern: processID),
      startTime: ownText.flatMap(ProcessStatistics.init(statText:))?.startTime)
  }

  /// A digest of boot and namespace for the names of claims; 0 if these are not known.
  ///
  /// 32-bit FNV-1a. Two places of one digest make a claim look as if its process had died, one time
  /// in 4 billion; the database then still makes one report of the dump.
  var place: UInt32 {
    guard let bootID, let processNamespace, isProcOurs, startTime != nil else { return 0 }
    let hash = "\(bootID)/\(processNamespace)".utf8.reduce(UInt32(2_166_136_261)) {
      ($0 ^ UInt32($1)) &* 16_777_619
    }
    return max(hash, 1)
  }
}
