internal import ProcessSnapshot

extension MinidumpDecoder {
  /// Process ID and times of MINIDUMP_MISC_INFO, any form.
  mutating func decodeMiscInfo() {
    guard let stream = file.streams[.miscInfo], stream.count >= 24,
      let flags = file.integer(at: stream.lowerBound + 4, width: 4)
    else { return }
    let fields = (2..<6).map { file.integer(at: stream.lowerBound + $0 * 4, width: 4) ?? 0 }
    if flags & 0x1 != 0 { snapshot.process.processID = UInt32(truncatingIfNeeded: fields[0]) }
    guard flags & 0x2 != 0 else { return }
    if fields[1] != 0 {
      snapshot.process.launchTime = Int64(clamping: fields[1] &* 1_000_000_000)
    }
    snapshot.process.userTime = fields[2] &* 1_000_000_000
    snapshot.process.systemTime = fields[3] &* 1_000_000_000
  }

  /// Process and parent of the copy of `/proc/<pid>/status`.
  ///
  /// Source: proc_pid_status(5).
  mutating func decodeProcStatus() {
    guard let status = snapshot.process.statusText else { return }
    for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
      let words = line.split(maxSplits: 1) { $0 == "\t" || $0 == " " }
      guard words.count == 2, let number = UInt32(words[1].filter { $0 != " " && $0 != "\t" })
      else { continue }
      if words[0] == "Pid:" { snapshot.process.processID = snapshot.process.processID ?? number }
      if words[0] == "PPid:" { snapshot.process.parentProcessID = number }
    }
  }
}
