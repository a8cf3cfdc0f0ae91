internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MINIDUMP_SYSTEM_INFO.
  ///
  /// Source: Microsoft minidumpapiset.h, Crashpad `minidump/minidump_system_info_writer.cc`.
  mutating func encodeSystemInfo() -> MinidumpLocation {
    let system = snapshot.system
    // As `uname -srvm`, the form Breakpad writes.
    let text = [system.kernelName, system.kernelRelease, system.kernelVersion, system.machine]
      .compactMap { $0 }.joined(separator: " ")
    let textRVA = buffer.appendString(text)
    buffer.align(to: 4)
    let start = buffer.rva
    switch snapshot.architecture {
    case .x86_64: buffer.append(MinidumpFormat.amd64)
    case .arm64: buffer.append(MinidumpFormat.arm64)
    }
    let processor = LabelledText(system.processorText, separator: ":")
    func number(_ label: String) -> UInt16 { processor[label].flatMap { UInt16($0) } ?? 0 }
    // ProcessorLevel and ProcessorRevision: family, then model and stepping; arm64 has other
    // labels.
    buffer.append(number("cpu family"))
    buffer.append(number("model") << 8 | number("stepping") & 0xFF)
    buffer.append(UInt8(clamping: system.processorCount ?? 0))
    // ProductType is for Windows.
    buffer.append(UInt8(0))
    for number in Self.versionNumbers(of: system.kernelRelease) { buffer.append(number) }
    buffer.append(MinidumpFormat.linux)
    buffer.append(textRVA)
    // SuiteMask, Reserved2, and the CPUID fields: not captured.
    buffer.appendZeros(2 + 2 + 24)
    return MinidumpLocation(size: 56, rva: start)
  }

  /// Major, minor and build number of a kernel release such as `6.1.0-13-amd64`; zero for those it
  /// lacks.
  static func versionNumbers(of release: String?) -> [UInt32] {
    let numbers = (release ?? "").split(separator: ".", maxSplits: 3).prefix(3).map { part in
      UInt32(part.prefix { $0.isASCII && $0.isNumber }) ?? 0
    }
    return numbers + Array(repeating: 0, count: 3 - numbers.count)
  }
}
