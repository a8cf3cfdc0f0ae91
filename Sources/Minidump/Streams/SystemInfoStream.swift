internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_SYSTEM_INFO.
  ///
  /// Source: Microsoft minidumpapiset.h, Crashpad `minidump/minidump_system_info_writer.cc`.
  mutating func encodeSystemInfo() -> MinidumpLocation {
    let system = snapshot.system
    // The text has the form of `uname -srvm`, which Breakpad writes too.
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
    // ProcessorLevel is the family, and ProcessorRevision is model and stepping. On arm64, `/proc/cpuinfo` has no such
    // labels, so both fields are 0.
    buffer.append(number("cpu family"))
    buffer.append(number("model") << 8 | number("stepping") & 0xFF)
    buffer.append(UInt8(clamping: system.processorCount ?? 0))
    // ProductType has a meaning only on Windows, so it is 0.
    buffer.append(UInt8(0))
    for number in Self.versionNumbers(of: system.kernelRelease) { buffer.append(number) }
    buffer.append(MinidumpFormat.linux)
    buffer.append(textRVA)
    // SuiteMask, Reserved2, and the CPUID fields stay zero.
    buffer.appendZeros(2 + 2 + 24)
    return buffer.location(from: start)
  }

  /// Major, minor and build number of a kernel release such as `6.1.0-13-amd64`; zero for each number that the
  /// release lacks.
  static func versionNumbers(of release: String?) -> [UInt32] {
    let numbers = (release ?? "").split(separator: ".", maxSplits: 3).prefix(3).map { part in
      UInt32(part.prefix { $0.isASCII && $0.isNumber }) ?? 0
    }
    return numbers + Array(repeating: 0, count: 3 - numbers.count)
  }
}

extension MinidumpDecoder {
  /// True for a minidump of Linux or Android, whose exception codes are signals, and for one that names no system.
  var isLinux: Bool {
    platform.map { $0 == MinidumpFormat.linux || $0 == MinidumpFormat.android } ?? true
  }

  /// The stream's field `PlatformId`, which names the operating system; nil if the stream is missing or too short.
  var platform: UInt32? {
    guard let stream = file.streams[.systemInfo], stream.count >= 24 else { return nil }
    return file.integer(at: stream.lowerBound + 20, width: 4).map {
      UInt32(truncatingIfNeeded: $0)
    }
  }

  /// The processor in MINIDUMP_SYSTEM_INFO or, if that stream is missing, the processor that matches the size of the
  /// first thread's context.
  func architecture() throws(MinidumpError) -> ProcessSnapshot.Architecture {
    guard let stream = file.streams[.systemInfo], stream.count >= 2,
      let number = file.integer(at: stream.lowerBound, width: 2)
    else { return architectureOfContexts() }
    switch UInt16(truncatingIfNeeded: number) {
    case MinidumpFormat.amd64: return .x86_64
    case MinidumpFormat.arm64, MinidumpFormat.arm64Old: return .arm64
    default:
      throw MinidumpError(.unsupportedArchitecture, "processor architecture \(number)")
    }
  }

  private func architectureOfContexts() -> ProcessSnapshot.Architecture {
    guard let threads = file.streams[.threadList],
      let size = file.integer(at: threads.lowerBound + 4 + 40, width: 4)
    else { return .x86_64 }
    let sizes = [
      MinidumpFormat.arm64ContextSize, MinidumpFormat.arm64ContextWithoutDebugSize,
      MinidumpFormat.arm64OldContextSize,
    ]
    return sizes.contains(Int(clamping: size)) ? .arm64 : .x86_64
  }

  /// Reads MINIDUMP_SYSTEM_INFO, for a minidump without this package's own stream.
  mutating func decodeSystemInfo() {
    guard let stream = file.streams[.systemInfo], stream.count >= 28 else { return }
    let start = stream.lowerBound
    if let count = file.integer(at: start + 6, width: 1), count > 0 {
      snapshot.system.processorCount = UInt32(truncatingIfNeeded: count)
    }
    guard isLinux else { return }
    snapshot.system.kernelName = "Linux"
    let text = file.integer(at: start + 24, width: 4).flatMap { file.string(at: $0) } ?? ""
    // Breakpad and this package write the text in the form of `uname -srvm`. Crashpad writes the first part of the
    // kernel release as numbers, and the rest of the release with other data as text.
    let words = text.split(separator: " ")
    if words.count >= 2, words[0] == "Linux" {
      snapshot.system.kernelRelease = String(words[1])
      let hasMachine = words.count > 3
      snapshot.system.machine = hasMachine ? words.last.map { String($0) } : nil
      let version = words[2..<(hasMachine ? words.count - 1 : words.count)]
      snapshot.system.kernelVersion = version.isEmpty ? nil : version.joined(separator: " ")
    } else {
      let numbers = [8, 12, 16].compactMap { file.integer(at: start + $0, width: 4) }
      if numbers.contains(where: { $0 != 0 }) {
        snapshot.system.kernelRelease = numbers.map { String($0) }.joined(separator: ".")
      }
      snapshot.system.kernelVersion = text.isEmpty ? nil : text
    }
  }

  /// Reads distribution and processor from the copies of os-release(5) or lsb-release, and of `/proc/cpuinfo`.
  mutating func decodeReleaseText() {
    let release = LabelledText(snapshot.system.releaseText, separator: "=")
    snapshot.system.distribution = release["PRETTY_NAME"] ?? release["DISTRIB_DESCRIPTION"]
    let processor = LabelledText(snapshot.system.processorText, separator: ":")
    snapshot.system.processorModel =
      processor["model name"] ?? snapshot.system.processorText.flatMap(ProcessorName.of)
  }
}

/// A text whose lines have a label, a separator and a value, such as `/proc/cpuinfo` and os-release(5).
struct LabelledText {
  private var values: [String: String] = [:]

  /// Reads the lines of a text; if several lines have the same label, the first is used.
  ///
  /// Spaces, tabs and quotation marks around labels and values are removed.
  init(_ text: [UInt8]?, separator: Character) {
    for line in String(decoding: text ?? [], as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: separator, maxSplits: 1)
      guard parts.count == 2 else { continue }
      let label = Self.trimmed(parts[0])
      if values[label] == nil { values[label] = Self.trimmed(parts[1]) }
    }
  }

  subscript(label: String) -> String? { values[label] }

  private static func trimmed(_ part: Substring) -> String {
    let ends: Set<Character> = [" ", "\t", "\"", "\r"]
    let start = part.drop { ends.contains($0) }
    guard let last = start.lastIndex(where: { !ends.contains($0) }) else { return "" }
    return String(start[...last])
  }
}
