internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_MISC_INFO_4.
  ///
  /// MINIDUMP_MISC_INFO_5 would add the layout of XSTATE areas, which the contexts in these minidumps lack, and a
  /// process cookie, which only Windows has.
  ///
  /// Source: Microsoft minidumpapiset.h, Crashpad `minidump/minidump_misc_info_writer.cc`.
  mutating func encodeMiscInfo() -> MinidumpLocation {
    let process = snapshot.process
    var flags: UInt32 = 0x100  // MINIDUMP_MISC4_BUILDSTRING
    if process.processID != nil { flags |= 0x1 }
    // The start time of the process or, if it is not known, the time of `startHandler`.
    let startTime = process.startTime ?? process.launchTime
    if startTime != nil { flags |= 0x2 }
    buffer.align(to: 4)
    let start = buffer.rva
    buffer.append(UInt32(truncatingIfNeeded: MinidumpFormat.miscInfoSize))
    buffer.append(flags)
    buffer.append(process.processID ?? 0)
    buffer.append(UInt32(exactly: (startTime ?? 0) / 1_000_000_000) ?? 0)
    buffer.append(Self.seconds(process.userTime))
    buffer.append(Self.seconds(process.systemTime))
    // Clock rates and idle states (5 fields), integrity level, execute flags, protection and time zone stay zero, and
    // their flags are clear.
    buffer.appendZeros(5 * 4 + 3 * 4 + 4 + 172)
    let system = snapshot.system
    let build = [
      [system.kernelName, system.kernelRelease, system.kernelVersion].compactMap { $0 }
        .joined(separator: " "),
      system.machine ?? snapshot.architecture.rawValue,
    ].filter { !$0.isEmpty }.joined(separator: "; ")
    buffer.appendFixedString(build, units: 260)
    let processor = snapshot.architecture == .arm64 ? "arm64" : "amd64"
    buffer.appendFixedString("swift-postmortem.\(processor),linux", units: 40)
    return buffer.location(from: start)
  }

  /// Rounds nanoseconds to whole seconds.
  private static func seconds(_ nanoseconds: UInt64?) -> UInt32 {
    let value = nanoseconds ?? 0
    return UInt32(
      clamping: value / 1_000_000_000 &+ (value % 1_000_000_000 >= 500_000_000 ? 1 : 0))
  }
}

extension MinidumpDecoder {
  /// Reads process ID and times from any version of MINIDUMP_MISC_INFO.
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

  /// Reads the IDs of the process and its parent from the copy of `/proc/<pid>/status`.
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
